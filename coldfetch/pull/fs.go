package pull

import (
	"io"
	"io/fs"
	"os"
)

// FS is what a Puller does with files. Tests put one in its place that records,
// fails, or forgets what wasn't flushed.
type FS interface {
	MkdirAll(dir string) error
	// CreateTemp makes a new file with a name that no other file has; its pattern is
	// that of os.CreateTemp.
	CreateTemp(dir, pattern string) (File, error)
	Rename(from, to string) error
	SyncDir(dir string) error // makes the folder's names durable
	Remove(path string) error
	Stat(path string) (fs.FileInfo, error)
	Names(dir string) ([]string, error)
}

// File is a temporary file. It belongs to one goroutine.
type File interface {
	io.Writer
	Name() string  // its path
	Rewind() error // makes it empty
	Sync() error   // makes its bytes durable
	Close() error
}

// OS is the operating system's file system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) MkdirAll(dir string) error             { return os.MkdirAll(dir, 0o777) }
func (osFS) Rename(from, to string) error          { return os.Rename(from, to) }
func (osFS) SyncDir(dir string) error              { return syncDir(dir) }
func (osFS) Remove(path string) error              { return os.Remove(path) }
func (osFS) Stat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

func (osFS) CreateTemp(dir, pattern string) (File, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Names(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

type osFile struct{ *os.File }

func (f osFile) Rewind() error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}
