package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/app"
	"latlab.example/coldfetch/fake"
	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/seed"
	"latlab.example/common/emu"
)

const bucket = "soak"

// shop is a fake store with a client, and what is in it.
type shop struct {
	*fake.Server
	client *minio.Client
	rules  string
	r      *rand.Rand
	seed   uint64
}

// stocked runs f on a fake store that has faults.
func stocked(seed, stream uint64, f func(shop) error, can ...string) (err error) {
	r := rand.New(rand.NewPCG(seed, stream))
	faults, rules, err := schedule(r, 4, can...)
	if err != nil {
		return err
	}
	cfg := fake.Config{Buckets: []string{bucket}, Waiter: emu.Spin, Seed: seed, Faults: faults, FaultAt: int64(r.IntN(100_000))}
	if r.IntN(3) == 0 {
		cfg.Profile = fake.Profile{Name: "near", FirstByte: emu.Constant(time.Millisecond), PerConnection: 200_000_000}
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("faults %q at byte %d: %w", rules, cfg.FaultAt, err)
		}
	}()
	s, err := fake.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	addr, err := s.Start("")
	if err != nil {
		return err
	}
	tr := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}
	defer tr.CloseIdleConnections()
	client, err := minio.New(addr, &minio.Options{
		Creds: credentials.NewStaticV4(fake.DefaultAccessKey, fake.DefaultSecretKey, ""), Region: fake.DefaultRegion, Transport: tr, MaxRetries: 2,
	})
	if err != nil {
		return err
	}
	return f(shop{s, client, rules, r, seed})
}

// folder runs f with a temporary folder.
func folder(f func(dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "latlab-soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return f(dir)
}

// Pull has callers pull objects, give up at times, and find them again, from a
// store that breaks off, lies, and replaces objects.
func Pull(ctx context.Context, seed uint64) (did Did, err error) {
	err = stocked(seed, 4, func(s shop) error {
		return folder(func(dir string) (err error) {
			did, err = s.pulls(ctx, dir)
			return err
		})
	}, "get:reset", "get:short", "get:torn", "get:error", "get:slow(3ms)", "flip:error", "nolength:error", "replace:error")
	return did, err
}

func (s shop) pulls(ctx context.Context, dir string) (did Did, err error) {
	const objects = 5
	bodies := make([][]byte, objects)
	for i := range bodies {
		bodies[i] = body(s.r.IntN(4)*s.r.IntN(120_000), s.seed*objects+uint64(i))
		if err := s.Put(bucket, name(i), bodies[i]); err != nil {
			return did, err
		}
	}
	o := pull.Options{
		Client: s.client, Bucket: bucket, Dir: dir, Sync: pick(s.r, pull.SyncToggle.Levels()), Herd: s.r.IntN(3) == 0, Attempts: 1 + s.r.IntN(4),
	}
	p, err := pull.New(o)
	if err != nil {
		return did, err
	}
	var mu sync.Mutex // guards did and err from here on
	var wg sync.WaitGroup
	for u := range 6 {
		r := rand.New(rand.NewPCG(s.seed, 400+uint64(u)))
		wg.Go(func() {
			for range 8 {
				i := r.IntN(objects)
				ctx, cancel := ctx, context.CancelFunc(func() {})
				hurried := r.IntN(5) == 0
				if hurried {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(3000))*time.Microsecond)
				}
				path, stats, perr := p.Pull(ctx, name(i))
				cancel()
				mu.Lock()
				switch {
				case perr == nil:
					did.Right++
					err = errors.Join(err, s.right(path, bodies[i], stats))
				case s.rules == "" && !hurried && ctx.Err() == nil:
					err = errors.Join(err, fmt.Errorf("%s: failed without a fault: %w", name(i), perr))
				default:
					did.Failed++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err != nil {
		return did, err
	}
	return did, s.left(dir, bodies)
}

func name(i int) string { return fmt.Sprintf("some/../object %d", i) }

// right looks at a pulled file: one version of the object, and whole.
func (s shop) right(path string, want []byte, stats pull.Stats) error {
	got, err := os.ReadFile(path)
	switch {
	case err != nil:
		return err
	case int64(len(got)) != stats.Bytes:
		return fmt.Errorf("%s has %d bytes, the pull says %d", path, len(got), stats.Bytes)
	case bytes.Equal(got, want):
		return nil
	case has(s.rules, "replace:") && bytes.Equal(got, replaced(want)):
		return nil
	}
	return fmt.Errorf("%s has %d bytes that are no version of an object of %d", path, len(got), len(want))
}

// replaced is what the fake puts in an object's place.
func replaced(b []byte) []byte {
	other := make([]byte, len(b))
	for i := range b {
		other[i] = b[i] ^ 0x5A
	}
	return other
}

// left looks at the folder when nobody pulls: whole objects under their names,
// and nothing else. A flight that all its callers left may be on its last steps.
func (s shop) left(dir string, bodies [][]byte) error {
	var temps []string
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		var err error
		if temps, err = filepath.Glob(filepath.Join(dir, ".pull-*")); err != nil {
			return err
		}
		if len(temps) == 0 || time.Now().After(end) {
			break
		}
	}
	if len(temps) > 0 {
		return fmt.Errorf("%w: temporary files %q", ErrLeak, temps)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(files) > len(bodies) {
		return fmt.Errorf("%w: %d files of %d objects", ErrLeak, len(files), len(bodies))
	}
	for _, f := range files {
		got, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		known := false
		for _, b := range bodies {
			known = known || bytes.Equal(got, b) || bytes.Equal(got, replaced(b))
		}
		if !known {
			return fmt.Errorf("%s was published with %d bytes that are no version of an object", f.Name(), len(got))
		}
	}
	return nil
}

// Coldfetch has users ask the service, through its proxy, for documents that it
// must pull and build.
func Coldfetch(ctx context.Context, seed uint64) (did Did, err error) {
	err = stocked(seed, 5, func(s shop) error {
		return folder(func(dir string) (err error) {
			did, err = s.serves(ctx, dir)
			return err
		})
	}, "get:reset", "get:short", "get:torn", "get:slow(3ms)", "flip:error", "nolength:error")
	return did, err
}

func (s shop) serves(ctx context.Context, dir string) (did Did, err error) {
	c := app.Config{
		Client: s.client, Bucket: bucket, Dir: filepath.Join(dir, "pulled"), Sync: pick(s.r, pull.SyncToggle.Levels()),
		Mode: pick(s.r, coldfetch.ModeToggle.Levels()), Flight: pick(s.r, coldfetch.FlightToggle.Levels()), CacheEntries: s.r.IntN(4),
		Gzip: s.r.IntN(2) == 0, Profile: pick(s.r, coldfetch.ProfileToggle.Levels()), Nodes: 1 + s.r.IntN(40), ProxyBuffer: s.r.IntN(3) * 4096,
	}
	wants := map[string][]byte{"/api/health": []byte("ok\n"), "/api/doc/nobody": nil}
	paths := []string{"/api/health", "/api/doc/nobody"}
	for i, d := range seed.Documents() {
		if d.Size == seed.Large {
			continue // seconds of work on each of its builds
		}
		if err := s.Put(bucket, d.Key(), d.Bytes()); err != nil {
			return did, err
		}
		path := app.Paths()[i]
		if wants[path], err = built(filepath.Join(dir, "document"), d, c.Nodes); err != nil {
			return did, err
		}
		paths = append(paths, path)
	}
	stack, err := app.Start(c)
	if err != nil {
		return did, err
	}
	var mu sync.Mutex // guards did and err from here on
	var wg sync.WaitGroup
	tr := &http.Transport{}
	for u := range 4 {
		r := rand.New(rand.NewPCG(s.seed, 500+uint64(u)))
		wg.Go(func() {
			for range 8 {
				path := pick(r, paths)
				ctx, cancel := ctx, context.CancelFunc(func() {})
				hurried := r.IntN(5) == 0
				if hurried {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(20))*time.Millisecond)
				}
				code, got, gerr := get(ctx, tr, stack.URL+path)
				cancel()
				want := wants[path]
				mu.Lock()
				switch {
				case gerr == nil && code == http.StatusOK && want != nil && bytes.Equal(got, want):
					did.Right++
				case gerr == nil && code == http.StatusNotFound && want == nil:
					did.Right++
				case gerr == nil && (code == http.StatusOK || code == http.StatusNotFound):
					err = errors.Join(err, fmt.Errorf("%s: status %d with %d bytes %.80q; want %d bytes", path, code, len(got), got, len(want)))
				case s.rules == "" && !hurried && ctx.Err() == nil:
					err = errors.Join(err, fmt.Errorf("%s: failed without a fault: status %d, %w, %.200s", path, code, gerr, got))
				default:
					did.Failed++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	tr.CloseIdleConnections()
	err = errors.Join(err, stack.Close())
	if err != nil {
		err = fmt.Errorf("mode %s, flight %s, %d entries, gzip %v, profile %s, %d nodes: %w", c.Mode, c.Flight, c.CacheEntries, c.Gzip, c.Profile, c.Nodes, err)
	}
	return did, err
}

// built is the answer for a document, without the service.
func built(file string, d seed.Document, nodes int) ([]byte, error) {
	if err := os.WriteFile(file, d.Bytes(), 0o600); err != nil {
		return nil, err
	}
	src, err := coldfetch.Open(file)
	if err != nil {
		return nil, err
	}
	return json.Marshal(coldfetch.Build(src, nodes, coldfetch.Lean, func() {}))
}

func get(ctx context.Context, tr http.RoundTripper, url string) (code int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, errors.Join(err, res.Body.Close())
}
