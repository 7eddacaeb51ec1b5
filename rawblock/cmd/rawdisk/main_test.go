//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock/blockdev/guardtest"
	"latlab.example/rawblock/uring"
)

const size = 96 << 20

func loop(t *testing.T) *guardtest.Loop {
	t.Helper()
	name := filepath.Join(t.TempDir(), "disk")
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, size)); err != nil {
		t.Fatal(err)
	}
	l, err := guardtest.NewLoop(name, 4096)
	if errors.Is(err, guardtest.ErrLoop) {
		labtest.Require(t, "loop", err) // LATLAB_REQUIRE_REAL
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func rawdisk(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		nil,
		{"help"},
		{"plan"},
		{"plan", ""},
		{"run"},
		{"run", "--confirm", "x"},
		{"plan", "/dev/zero", "/dev/null"},
		{"plan", "/dev/zero", "--confirm", "x"},
		{"run", "/dev/zero", "--bytes", "many"},
		{"run", "/dev/zero", "--engine", "steam"},
	} {
		code, stdout, stderr := rawdisk(t, args...)
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "usage:") {
			t.Errorf("%q: code %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

// A refusal takes one line and code 1.
func TestRefusals(t *testing.T) {
	l := loop(t)
	for _, args := range [][]string{
		{"plan", "/dev/zero"},
		{"run", "/dev/zero", "--confirm", "x"},
		{"run", l.Path},
		{"run", l.Path, "--confirm", "x"},
		{"run", l.Path, "--confirm", fmt.Sprintf("%s:%d", l.Path, size), "--bytes", "1"},
	} {
		if code, _, stderr := rawdisk(t, args...); code != 1 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: code %d, %q", args, code, stderr)
		}
	}
	if err := os.WriteFile(l.Path, []byte("XFSB"), 0); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := rawdisk(t, "plan", l.Path)
	if code != 1 || !strings.Contains(stdout, "refused") || !strings.Contains(stdout, "xfs") || strings.Contains(stdout, "consent") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("code %d, %q, %q", code, stdout, stderr)
	}
}

// The plan names the phrase, the run with it passes twice, and writes nowhere
// but in the range.
func TestRun(t *testing.T) {
	l := loop(t)
	want := fmt.Sprintf("%s:%d", l.Path, size)
	code, stdout, stderr := rawdisk(t, "plan", l.Path)
	if code != 0 || !strings.Contains(stdout, "consent   "+want+"\n") || !strings.Contains(stdout, "bytes 0 to 67108863") {
		t.Fatalf("code %d, %q, %q", code, stdout, stderr)
	}
	engine, ways := "posix", 1
	if uring.Built {
		engine, ways = "both", 2
	}
	const bytes = 32 << 20
	for range 2 {
		code, stdout, stderr = rawdisk(t, "run", l.Path, "--confirm", want, "--bytes", fmt.Sprint(bytes), "--engine", engine)
		if code != 0 || !strings.HasSuffix(stdout, fmt.Sprintf("passed: %d checks, %d engines\n", ways*len(suite)*8, ways)) {
			t.Fatalf("code %d, %q, %q", code, stdout, stderr)
		}
	}
	disk, err := os.ReadFile(l.Path)
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for i, c := range disk {
		if c != 0 {
			if used++; i < 1<<20 || i >= bytes {
				t.Fatalf("byte %d is %d", i, c)
			}
		}
	}
	if used == 0 {
		t.Error("nothing was written")
	}
}
