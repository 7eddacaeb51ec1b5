//go:build linux

package rawblock_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock"
)

// tempFile makes a real file beside the test, which skips where that can't be.
func tempFile(t testing.TB, size int64) *rawblock.File {
	t.Helper()
	f, err := rawblock.TempFile(t.TempDir(), size)
	if errors.Is(err, rawblock.ErrFileSystem) {
		labtest.Require(t, "file", err) // LATLAB_REQUIRE_REAL
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRoundTripOnAFile(t *testing.T) {
	for _, strategy := range rawblock.StrategyToggle.Levels() {
		for _, layout := range rawblock.LayoutToggle.Levels() {
			s := open(t, tempFile(t, 1<<20), rawblock.Options{Strategy: strategy, Layout: layout})
			keys, objects := some(0, 30)
			put(t, s, keys, objects)
			wantStored(t, s, keys, objects)
		}
	}
}

func TestFileLeavesNoName(t *testing.T) {
	f := tempFile(t, 1<<20)
	entries, err := os.ReadDir(f.Dir())
	if err != nil || len(entries) > 0 {
		t.Errorf("folder holds %v (%v), want nothing", entries, err)
	}
	if f.Size() != 1<<20 || f.BlockSize() < 512 || f.BlockSize()&(f.BlockSize()-1) != 0 {
		t.Errorf("%d bytes in blocks of %d", f.Size(), f.BlockSize())
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestFileIsRefused(t *testing.T) {
	if _, err := rawblock.TempFile(filepath.Join(t.TempDir(), "absent"), 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent folder: %v", err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err == nil && fs.Type == unix.TMPFS_MAGIC {
		if _, err := rawblock.TempFile("/dev/shm", 1); !errors.Is(err, rawblock.ErrFileSystem) {
			t.Errorf("tmpfs: %v", err)
		}
	}
	if os.Getuid() != 0 { // root may write everywhere
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		if _, err := rawblock.TempFile(dir, 1); !errors.Is(err, os.ErrPermission) {
			t.Errorf("folder without the right to write: %v", err)
		}
	}
}

func TestFileFails(t *testing.T) {
	f := tempFile(t, 1<<20)
	buf := make([]byte, f.BlockSize())
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(t.Context(), rawblock.IO{Buf: buf}); err == nil {
		t.Error("write to a closed file: no error")
	}
	if _, err := f.ReadAt(buf, 0); err == nil {
		t.Error("read of a closed file: no error")
	}
}

// A File is a window: the offsets of its callers count from its base, and nothing
// outside the window, or in parts of blocks, is touched.
func TestFileIsAWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	whole := bytes.Repeat([]byte{7}, 4*512)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	window := func(block int, base, size int64) (*rawblock.File, error) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		return rawblock.NewFile(f, block, base, size)
	}
	f, err := window(512, 512, 1024)
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte{9}, 512)
	if err := f.Write(t.Context(), rawblock.IO{Off: 512, Buf: block}); err != nil {
		t.Error(err)
	}
	copy(whole[1024:], block)
	for name, io := range map[string]rawblock.IO{
		"before":        {Off: -512, Buf: block},
		"across":        {Off: 512, Buf: whole[:1024]},
		"after":         {Off: 1024, Buf: block},
		"far after":     {Off: math.MaxInt64 &^ 511, Buf: block},
		"odd offset":    {Off: 1, Buf: block},
		"part of block": {Off: 0, Buf: block[:100]},
	} {
		if err := f.Write(t.Context(), io); !errors.Is(err, rawblock.ErrRange) {
			t.Errorf("write %s: %v", name, err)
		}
		if _, err := f.ReadAt(io.Buf, io.Off); !errors.Is(err, rawblock.ErrRange) {
			t.Errorf("read %s: %v", name, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("the file isn't as expected (%v)", err)
	}
	for _, c := range []struct {
		block      int
		base, size int64
	}{{0, 0, 512}, {513, 0, 513}, {512, 1, 512}, {512, -512, 512}, {512, 0, 0}, {512, 0, 700}, {512, math.MaxInt64 &^ 511, 512}} {
		if _, err := window(c.block, c.base, c.size); !errors.Is(err, rawblock.ErrRange) {
			t.Errorf("window %+v: %v", c, err)
		}
	}
}

// What ends early is asked for again and ends in an error, never in a loop.
func TestFileEndsEarly(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "disk"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(700); err != nil {
		t.Fatal(err)
	}
	d, err := rawblock.NewFile(f, 512, 0, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := d.ReadAt(make([]byte, 1024), 0); n != 700 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read across the end: %d bytes, %v", n, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	d, err = rawblock.NewFile(full, 512, 0, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(t.Context(), rawblock.IO{Buf: make([]byte, 512)}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("write to a full device: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Write(cancelled, rawblock.IO{Buf: make([]byte, 512)}); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	if err := d.Flush(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("flush: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
