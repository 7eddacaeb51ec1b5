package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What the machine says last decides, and only that.
func TestJudge(t *testing.T) {
	for console, want := range map[string]error{
		"ok  a\r\nnvme-vm: passed 52 checks\r\n[ 9.9] reboot: Power down\r\n": nil,
		"ok  a\nnvme-vm: failed: disk\n":                                      ErrFailed,
		"nvme-vm: passed 52 checks\nnvme-vm: failed: power off: no\n":         ErrFailed,
		"ok  a\n[ 1.0] Kernel panic\n":                                        ErrFailed,
		"the words nvme-vm: passed in mid-line\n":                             ErrFailed,
		"": ErrFailed,
	} {
		var shown strings.Builder
		err := judge(follow(strings.NewReader(console), &shown), nil, time.Minute)
		if !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("%q: %v, want %v", console, err, want)
		}
		if strings.Contains(console, "\n") && shown.Len() == 0 {
			t.Errorf("%q: nothing was shown", console)
		}
	}
	if err := judge(verdict+"passed", context.DeadlineExceeded, time.Minute); !errors.Is(err, ErrTime) {
		t.Errorf("out of time: %v", err)
	}
	if err := judge(verdict+"passed", context.Canceled, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// A missing program is named with the package that brings it.
func TestMissingTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := tools()
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "qemu-system-x86_64 is not installed: package qemu-system-x86") {
		t.Error(err)
	}
	if err := run(t.Context(), t.TempDir(), []string{"512"}, time.Minute); !errors.Is(err, ErrMissing) {
		t.Errorf("run: %v", err)
	}
}

func TestDependency(t *testing.T) {
	list := "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-57-cloud-amd64\n  Suggests: linux-doc\n"
	if got := dependency(list); got != "linux-image-6.1.0-57-cloud-amd64" {
		t.Errorf("%q", got)
	}
	if got := dependency("linux-image-cloud-amd64\n"); got != "" {
		t.Errorf("%q", got)
	}
}

// Both places of Debian's releases are found, and what isn't whole is refused.
func TestFind(t *testing.T) {
	for _, usr := range []string{"", "usr/"} {
		dir := t.TempDir()
		for _, name := range []string{"boot/vmlinuz-1", usr + "lib/modules/1/modules.builtin", usr + "bin/busybox"} {
			if _, err := find(dir); err == nil {
				t.Errorf("before %s is there: no error", name)
			}
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		k, err := find(dir)
		if err != nil || filepath.Base(k.image) != "vmlinuz-1" || filepath.Base(k.modules) != "1" {
			t.Errorf("%+v, %v", k, err)
		}
	}
}

// The archive is one that cpio reads, with names, rights and bytes.
func TestArchive(t *testing.T) {
	var a archive
	files := map[string]string{"init": "#!", "dev": "", "modules/00-a.ko": "abc", "four": "1234"}
	for name, data := range files {
		mode := program
		if name == "dev" {
			mode = folder
		}
		a.add(name, mode, []byte(data))
	}
	b := a.done()
	got, rest := map[string]string{}, bytes.NewReader(b)
	for {
		var head [110]byte
		if _, err := io.ReadFull(rest, head[:]); err != nil || string(head[:6]) != "070701" {
			t.Fatalf("header %q: %v", head, err)
		}
		field := func(i int) (n int) {
			for _, c := range head[6+8*i : 14+8*i] {
				n = n*16 + strings.IndexByte("0123456789abcdef", c)
			}
			return n
		}
		take := func(n, already int) string {
			p := make([]byte, n+(4-(already+n)%4)%4)
			if _, err := io.ReadFull(rest, p); err != nil {
				t.Fatal(err)
			}
			return string(p[:n])
		}
		name := strings.TrimSuffix(take(field(11), len(head)), "\x00")
		if name == "TRAILER!!!" {
			break
		}
		got[name] = take(field(6), 0)
		if want := map[bool]int{true: folder, false: program}[name == "dev"]; field(1) != want {
			t.Errorf("%s has mode %o, want %o", name, field(1), want)
		}
	}
	if len(got) != len(files) || rest.Len() != 0 {
		t.Errorf("%d entries and %d bytes more, want %d and none", len(got), rest.Len(), len(files))
	}
	for name, want := range files {
		if got[name] != want {
			t.Errorf("%s holds %q, want %q", name, got[name], want)
		}
	}
}

// Modules come after what they depend on, and once. The test makes its own, with
// the assembler, as the kernel's are not everywhere.
func TestInOrder(t *testing.T) {
	dir := t.TempDir()
	module := func(name, depends string) {
		t.Helper()
		source := filepath.Join(dir, "m.s")
		text := ".section .modinfo,\"a\"\n.asciz \"license=GPL\"\n.asciz \"depends=" + depends + "\"\n"
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("as", "-o", filepath.Join(dir, name), source).CombinedOutput(); err != nil {
			t.Skipf("no assembler for Linux: %v %s", err, out)
		}
	}
	module("virtio-blk.ko", "virtio_ring,virtio")
	module("virtio_ring.ko", "virtio")
	module("virtio.ko", "")
	module("odd.ko", "absent")
	builtin := filepath.Join(dir, "modules.builtin")
	if err := os.WriteFile(builtin, []byte("kernel/drivers/nvme/host/nvme-core.ko\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := inOrder(dir, []string{"virtio_blk", "nvme_core", "virtio"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	if got := strings.Join(names, " "); got != "virtio.ko virtio_ring.ko virtio-blk.ko" {
		t.Error(got)
	}
	if _, err := inOrder(dir, []string{"odd"}); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("a dependency that isn't there: %v", err)
	}
}
