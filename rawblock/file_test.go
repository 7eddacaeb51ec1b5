//go:build linux

package rawblock_test

import (
	"errors"
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
