package pull_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"latlab.example/coldfetch/pull"
)

// disk is a file system in memory that knows what a crash may leave: bytes that
// weren't flushed may be missing or zero, and names since the last flush of the
// folder are there up to some point.
type disk struct {
	mu      sync.Mutex
	now     map[string]*inode // names as a process sees them
	durable map[string]*inode // names as of the last flush of the folder
	pending []func(map[string]*inode)
	log     []string
	temps   int
	dieAt   int // the step at which the process dies; 0 is never
	dead    bool
	// check looks at the disk after each step, under the lock.
	check func(*disk) error
	bad   error // the first that check said
}

type inode struct {
	data   []byte
	synced int // bytes that are flushed; a file only grows, or begins anew
}

var errDead = errors.New("the process is dead")

func newDisk() *disk { return &disk{now: map[string]*inode{}, durable: map[string]*inode{}} }

// step counts an operation and does it, unless the process is dead or dies at it.
func (d *disk) step(what string, do func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errDead
	}
	d.log = append(d.log, what)
	if len(d.log) == d.dieAt {
		d.dead = true
		return errDead
	}
	do()
	if d.check != nil && d.bad == nil {
		if err := d.check(d); err != nil {
			d.bad = fmt.Errorf("after %s (step %d): %w", what, len(d.log), err)
		}
	}
	return nil
}

// name changes the folder: at once for processes, later on the disk.
func (d *disk) name(change func(map[string]*inode)) {
	change(d.now)
	d.pending = append(d.pending, change)
}

// killed is the disk as the next process finds it.
func (d *disk) killed() *disk {
	n := newDisk()
	n.now, n.durable, n.pending, n.temps = d.now, d.durable, d.pending, d.temps
	return n
}

// crashed is the disk as a crash of the machine may leave it.
func (d *disk) crashed(r *rand.Rand) *disk {
	n := newDisk()
	n.temps = d.temps
	names := maps.Clone(d.durable)
	for _, change := range d.pending[:r.IntN(len(d.pending)+1)] {
		change(names)
	}
	for name, old := range names {
		kept := old.synced + r.IntN(len(old.data)-old.synced+1)
		data := slices.Clone(old.data[:kept])
		if r.IntN(2) == 0 { // the length reached the disk, the bytes didn't
			data = append(data, make([]byte, len(old.data)-kept)...)
		}
		n.now[name] = &inode{data, len(data)}
	}
	n.durable = maps.Clone(n.now)
	return n
}

func (d *disk) MkdirAll(string) error { return d.step("mkdir", func() {}) }

func (d *disk) CreateTemp(dir, pattern string) (pull.File, error) {
	f := &diskFile{d: d, inode: &inode{}}
	err := d.step("create", func() {
		d.temps++
		f.path = filepath.Join(dir, strings.Replace(pattern, "*", fmt.Sprint(d.temps), 1))
		d.name(func(names map[string]*inode) { names[f.path] = f.inode })
	})
	return f, err
}

func (d *disk) Rename(from, to string) error {
	return d.step("rename", func() {
		i := d.now[from]
		d.name(func(names map[string]*inode) { names[to] = i; delete(names, from) })
	})
}

func (d *disk) SyncDir(string) error {
	return d.step("fsync folder", func() { d.durable, d.pending = maps.Clone(d.now), nil })
}

func (d *disk) Remove(path string) error {
	return d.step("remove", func() { d.name(func(names map[string]*inode) { delete(names, path) }) })
}

func (d *disk) Stat(path string) (fs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.now[path]; i != nil {
		return diskInfo(len(i.data)), nil
	}
	return nil, fs.ErrNotExist
}

func (d *disk) Names(dir string) (names []string, err error) {
	err = d.step("list", func() {
		for path := range d.now {
			names = append(names, filepath.Base(path))
		}
	})
	return names, err
}

// files lists the names on the disk, temporary ones apart.
func (d *disk) files() (whole map[string][]byte, temps []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	whole = map[string][]byte{}
	for path, i := range d.now {
		if name := filepath.Base(path); strings.HasSuffix(name, ".tmp") {
			temps = append(temps, name)
		} else {
			whole[name] = i.data
		}
	}
	return whole, temps
}

type diskFile struct {
	d     *disk
	inode *inode
	path  string
}

func (f *diskFile) Name() string { return f.path }

func (f *diskFile) Write(p []byte) (int, error) {
	err := f.d.step("write", func() { f.inode.data = append(f.inode.data, p...) })
	return len(p), err
}

func (f *diskFile) Rewind() error {
	return f.d.step("rewind", func() { f.inode.data, f.inode.synced = nil, 0 })
}

func (f *diskFile) Sync() error {
	return f.d.step("fsync", func() { f.inode.synced = len(f.inode.data) })
}

func (f *diskFile) Close() error { return f.d.step("close", func() {}) }

type diskInfo int64

func (i diskInfo) Name() string     { return "" }
func (i diskInfo) Size() int64      { return int64(i) }
func (diskInfo) Mode() fs.FileMode  { return 0o600 }
func (diskInfo) ModTime() time.Time { return time.Time{} }
func (diskInfo) IsDir() bool        { return false }
func (diskInfo) Sys() any           { return nil }
