package pull

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"
)

// Puller makes objects local. It is safe for concurrent use.
type Puller struct {
	o     Options
	swept int

	mu      sync.Mutex
	flights map[string]*flight // guarded by mu: the pulls under way, by key
}

// flight is a pull that several callers may wait for.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	callers int // guarded by Puller.mu: those who wait; none left cancels it

	// Set before done is closed.
	stats Stats
	err   error
}

// New makes a puller, and its folder if there is none. It removes the temporary
// files that an earlier puller left there.
func New(o Options) (*Puller, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		return nil, fmt.Errorf("pull: %w", err)
	}
	p := &Puller{o: o, flights: map[string]*flight{}}
	names, err := o.FS.Names(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("pull: look for stale temporary files: %w", err)
	}
	for _, name := range names {
		if !isTemp(name) {
			continue
		}
		if err := o.FS.Remove(filepath.Join(o.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("pull: remove a stale temporary file: %w", err)
		}
		p.swept++
	}
	return p, nil
}

// Swept is how many stale temporary files New removed.
func (p *Puller) Swept() int { return p.swept }

// Pull returns the path of the object's file, and gets it if it isn't there. The
// file may be read at any time from then on, and must not be changed.
//
// Callers who ask for one key at a time share one pull, unless Options.Herd is
// set; it ends early only if all of them gave up. The error is ctx's, or wraps
// ErrNotFound, ErrShort, ErrChecksum, ErrNoProof, the client's or the file system's.
func (p *Puller) Pull(ctx context.Context, key string) (path string, s Stats, err error) {
	if path, err = p.o.path(key); err != nil {
		return "", s, err
	}
	if size, ok, err := p.there(path); err != nil || ok {
		return path, Stats{Hit: true, Bytes: size}, err
	}
	if p.o.Herd {
		s, err = p.fetch(ctx, key, path)
		return path, s, err
	}
	f, first := p.join(ctx, key, path)
	select {
	case <-f.done:
		s, err = f.stats, f.err
		s.Shared = !first
		return path, s, err
	case <-ctx.Done():
		p.leave(key, f)
		return path, Stats{Shared: !first}, ctx.Err()
	}
}

// there says whether the file is, and how large. It was renamed to its name, so
// it is whole.
func (p *Puller) there(path string) (size int64, ok bool, err error) {
	info, err := p.o.FS.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("pull: %w", err)
	case !info.Mode().IsRegular():
		return 0, false, fmt.Errorf("pull: %s is no file (%v); remove it", path, info.Mode().Type())
	}
	return info.Size(), true, nil
}

// join waits with the pull of that key, or begins it.
func (p *Puller) join(ctx context.Context, key, path string) (f *flight, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.flights[key]; f != nil {
		f.callers++
		return f, false
	}
	// The caller's context ends with the caller, who may not be the last.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f = &flight{done: make(chan struct{}), cancel: cancel, callers: 1}
	p.flights[key] = f
	go func() {
		defer cancel()
		// The flight before may have landed since the caller looked.
		if size, ok, err := p.there(path); err != nil || ok {
			f.stats, f.err = Stats{Hit: true, Bytes: size}, err
		} else {
			f.stats, f.err = p.fetch(ctx, key, path)
		}
		p.mu.Lock()
		if p.flights[key] == f {
			delete(p.flights, key)
		}
		p.mu.Unlock()
		close(f.done)
	}()
	return f, true
}

// leave gives up waiting. A flight that nobody waits for ends, and the next
// caller begins another.
func (p *Puller) leave(key string, f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.callers--; f.callers == 0 {
		f.cancel()
		if p.flights[key] == f {
			delete(p.flights, key)
		}
	}
}

// fetch gets the object into a temporary file, and publishes it.
func (p *Puller) fetch(ctx context.Context, key, path string) (s Stats, err error) {
	tr := newTracer()
	defer func() {
		s.Spans, s.Requests, s.Took = tr.finish()
		s.record(p.o.Recorder)
	}()
	tmp, err := p.o.FS.CreateTemp(p.o.Dir, tempPrefix+"*"+tempSuffix)
	if err != nil {
		return s, fmt.Errorf("pull: %w", err)
	}
	open, published := true, false
	defer func() {
		if open {
			err = errors.Join(err, tmp.Close())
		}
		if !published {
			if rerr := p.o.FS.Remove(tmp.Name()); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
				err = errors.Join(err, rerr)
			}
		}
	}()
	d := download{p: p, key: key, to: tmp, tracer: tr, stats: &s}
	if err := d.run(ctx); err != nil {
		return s, fmt.Errorf("pull %s/%s: %w", p.o.Bucket, key, err)
	}
	// From here on the bytes are whole and right.
	start := time.Now()
	if p.o.Sync != SyncNone {
		if err := tmp.Sync(); err != nil {
			return s, fmt.Errorf("pull %s/%s: %w", p.o.Bucket, key, err)
		}
		start = tr.span(StageFsync, start)
	}
	open = false
	if err := tmp.Close(); err != nil {
		return s, fmt.Errorf("pull %s/%s: %w", p.o.Bucket, key, err)
	}
	if err := p.o.FS.Rename(tmp.Name(), path); err != nil {
		return s, fmt.Errorf("pull %s/%s: %w", p.o.Bucket, key, err)
	}
	published = true
	if p.o.Sync == SyncFolder {
		// If this fails the file is there, and whole; it may be gone after a crash.
		if err := p.o.FS.SyncDir(p.o.Dir); err != nil {
			return s, fmt.Errorf("pull %s/%s: %w", p.o.Bucket, key, err)
		}
	}
	tr.span(StagePublish, start)
	return s, nil
}
