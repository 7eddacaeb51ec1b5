//go:build !linux

package rawblock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// File is a device on a file with direct I/O. It exists on Linux only.
type File struct{}

// TempFile returns ErrPlatform.
func TempFile(string, int64) (*File, error) {
	return nil, fmt.Errorf("rawblock: direct I/O on %s: %w; take an emulated rig", runtime.GOOS, ErrPlatform)
}

// NewFile closes the file and returns ErrPlatform.
func NewFile(f *os.File, _ int, _, _ int64) (*File, error) {
	_, err := TempFile("", 0)
	return nil, errors.Join(err, f.Close())
}

func (*File) unreachable() string { panic("rawblock: no File is ever made here") }

// The methods of a Device, which nothing can reach.
func (f *File) Dir() string                       { return f.unreachable() }
func (f *File) Fd() int                           { return len(f.unreachable()) }
func (f *File) BlockSize() int                    { return len(f.unreachable()) }
func (f *File) Size() int64                       { return int64(len(f.unreachable())) }
func (f *File) Place(int64, int) (int64, error)   { return int64(len(f.unreachable())), nil }
func (f *File) ReadAt([]byte, int64) (int, error) { return len(f.unreachable()), nil }
func (f *File) Write(context.Context, IO) error   { f.unreachable(); return nil }
func (f *File) Flush(context.Context) error       { f.unreachable(); return nil }
func (f *File) Close() error                      { f.unreachable(); return nil }
