//go:build giouring && linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock"
)

// Both programs write to a real file, and stop when the context ends. What they
// reach is no test's business.
func TestBothWrite(t *testing.T) {
	f := fio{program: "fio"}
	if _, err := f.version(t.Context()); errors.Is(err, exec.ErrNotFound) {
		labtest.Require(t, "fio", err) // LATLAB_REQUIRE_REAL
	} else if err != nil {
		t.Fatal(err)
	}
	const size = 4 << 20
	file, err := rawblock.TempFile(t.TempDir(), size)
	if errors.Is(err, rawblock.ErrFileSystem) {
		labtest.Require(t, "file", err) // LATLAB_REQUIRE_REAL
	} else if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
	before, err := os.ReadFile(path)
	if err != nil || len(before) != size {
		t.Fatalf("file of %d bytes, %v", len(before), err)
	}
	p := point{block: 4096, depth: 8}
	rate, err := ours(t.Context(), path, size, p, 50*time.Millisecond)
	if errors.Is(err, rawblock.ErrBlocked) {
		labtest.Require(t, "iouring", err) // LATLAB_REQUIRE_REAL
	} else if err != nil || rate <= 0 {
		t.Errorf("ours: %v writes a second, %v", rate, err)
	}
	after, err := os.ReadFile(path)
	if err != nil || len(after) != size || bytes.Equal(before, after) {
		t.Errorf("ours wrote nothing, or changed the file's size to %d (%v)", len(after), err)
	}
	if rate, err := f.measure(t.Context(), path, size, p, time.Second); err != nil || rate <= 0 {
		t.Errorf("fio: %v writes a second, %v", rate, err)
	}
	for name, write := range map[string]func(path string) (float64, error){
		"ours": func(path string) (float64, error) { return ours(t.Context(), path, size, p, time.Second) },
		"fio":  func(path string) (float64, error) { return f.measure(t.Context(), path, size, p, time.Second) },
	} {
		if _, err := write(path + "/file"); err == nil || !strings.Contains(err.Error(), "depth 8: ") {
			t.Errorf("%s where no file can be: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ours(ctx, path, size, p, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("ours, cancelled: %v", err)
	}
	if _, err := f.measure(ctx, path, size, p, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("fio, cancelled: %v", err)
	}
}
