package blockdev_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock"
	"latlab.example/rawblock/blockdev"
	"latlab.example/rawblock/blockdev/guardtest"
	"latlab.example/rawblock/uring"
)

const size = 64 << 20

// backing is an empty file for a loop device.
func backing(t *testing.T, size int64) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	return name
}

// loop is a loop device that the test may write to, which skips where there is none.
func loop(t *testing.T, block int) *guardtest.Loop {
	t.Helper()
	l, err := guardtest.NewLoop(backing(t, size), block)
	if errors.Is(err, guardtest.ErrLoop) {
		labtest.Require(t, "loop", err) // LATLAB_REQUIRE_REAL
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return l
}

func phrase(t *testing.T, dev string) blockdev.Consent {
	t.Helper()
	p, err := blockdev.Inspect(t.Context(), dev, 0)
	if err != nil {
		t.Fatal(err)
	}
	return blockdev.Consent{Serial: p.Phrase}
}

// Each guard refuses a real block device in the state that it is there for, and
// lets it pass when that state is undone.
func TestGuardsOnALoopDevice(t *testing.T) {
	for _, block := range []int{512, 4096} {
		t.Run(fmt.Sprint("block=", block), func(t *testing.T) {
			l := loop(t, block)
			for _, c := range guardtest.Cases() {
				t.Run(c.Name, func(t *testing.T) {
					err := guardtest.Check(t.Context(), l.Path, c)
					if errors.Is(err, guardtest.ErrNeed) {
						t.Skip(err) // device mapper: a folder stands in, and the virtual machine has one
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

func TestPlanOfALoopDevice(t *testing.T) {
	l := loop(t, 4096)
	p, err := blockdev.Inspect(t.Context(), l.Path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s:%d", l.Path, size)
	if p.Path != l.Path || p.Size != size || p.Block != 4096 || p.Bytes != 1<<20 || p.Serial != "" || p.Phrase != want || len(p.Refusals) > 0 || p.Ours {
		t.Errorf("%+v, want phrase %s and no refusal", p, want)
	}
	var st unix.Stat_t
	if err := unix.Stat(l.Path, &st); err != nil || (p.Number != blockdev.Number{unix.Major(st.Rdev), unix.Minor(st.Rdev)}) {
		t.Errorf("number %v, the node has %d:%d (%v)", p.Number, unix.Major(st.Rdev), unix.Minor(st.Rdev), err)
	}
}

// Nobody else can have the device until Close: neither exclusively nor mounted.
func TestExclusiveUntilClose(t *testing.T) {
	l := loop(t, 512)
	d, err := blockdev.Open(t.Context(), l.Path, phrase(t, l.Path), 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a refused look must not let go of it
		if _, err := blockdev.Open(t.Context(), l.Path, phrase(t, l.Path), 0); !errors.Is(err, blockdev.ErrBusy) {
			t.Errorf("second Open: %v, want ErrBusy", err)
		}
	}
	if err := unix.Mount(l.Path, t.TempDir(), "ext4", 0, ""); !errors.Is(err, unix.EBUSY) {
		t.Errorf("mount: %v, want EBUSY", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if d, err = blockdev.Open(t.Context(), l.Path, phrase(t, l.Path), 0); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// The device behind a name may change between the look and the opening.
func TestChangedAfterTheLook(t *testing.T) {
	change := map[string]func(t *testing.T, l *guardtest.Loop, link string){
		"link to another device": func(t *testing.T, _ *guardtest.Loop, link string) {
			other := loop(t, 512)
			if err := errors.Join(os.Remove(link), os.Symlink(other.Path, link)); err != nil {
				t.Fatal(err)
			}
		},
		"another file under the same number": func(t *testing.T, l *guardtest.Loop, _ string) {
			if err := errors.Join(l.Close(), l.Attach(backing(t, size), 512)); err != nil {
				t.Fatal(err)
			}
		},
		"another size": func(t *testing.T, l *guardtest.Loop, _ string) {
			if err := errors.Join(l.Close(), l.Attach(backing(t, 2*size), 512)); err != nil {
				t.Fatal(err)
			}
		},
		"another block size": func(t *testing.T, l *guardtest.Loop, _ string) {
			if err := errors.Join(l.Close(), l.Attach(backing(t, size), 4096)); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, f := range change {
		t.Run(name, func(t *testing.T) {
			l := loop(t, 512)
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(l.Path, link); err != nil {
				t.Fatal(err)
			}
			p, err := blockdev.Inspect(t.Context(), link, 0)
			if err != nil {
				t.Fatal(err)
			}
			d, err := blockdev.OpenBetween(t.Context(), link, blockdev.Consent{Serial: p.Phrase}, 0, func() { f(t, l, link) })
			if !errors.Is(err, blockdev.ErrChanged) {
				t.Errorf("%v, want ErrChanged", err)
			}
			if err == nil {
				_ = d.Close() // the failure is reported
			}
		})
	}
}

// What appears on the device after the look is seen through the descriptor that
// would write.
func TestFilledAfterTheLook(t *testing.T) {
	l := loop(t, 512)
	d, err := blockdev.OpenBetween(t.Context(), l.Path, phrase(t, l.Path), 0, func() {
		if err := os.WriteFile(l.Path, []byte("XFSB"), 0); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(err, blockdev.ErrSignature) {
		t.Errorf("%v, want ErrSignature", err)
	}
	if err == nil {
		_ = d.Close() // the failure is reported
	}
}

// A device that begins with a store of ours may be written to again, but not if
// something has come on top of it, nor if the superblock is damaged.
func TestOurs(t *testing.T) {
	for _, block := range []int{512, 4096} {
		l := loop(t, block)
		d, err := blockdev.Open(t.Context(), l.Path, phrase(t, l.Path), 0)
		if err != nil {
			t.Fatal(err)
		}
		s, err := rawblock.New(d, rawblock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var keys []rawblock.Key
		for i := range 3000 { // some in the last MiB
			keys = append(keys, rawblock.KeyOf(fmt.Sprint(i)))
		}
		objects := slices.Repeat([][]byte{slices.Repeat([]byte{7}, 4096)}, len(keys))
		if _, err := s.PutMany(t.Context(), keys, objects); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		p, err := blockdev.Inspect(t.Context(), l.Path, 0)
		if err != nil || !p.Ours || len(p.Refusals) > 0 {
			t.Fatalf("block %d: %+v, %v", block, p, err)
		}
		if d, err = blockdev.Open(t.Context(), l.Path, phrase(t, l.Path), 0); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		write := func(off int64, text string) {
			f, err := os.OpenFile(l.Path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteAt([]byte(text), off)
			if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		write(int64(size-block), "EFI PART")
		if _, err := blockdev.Open(t.Context(), l.Path, phrase(t, l.Path), 0); !errors.Is(err, blockdev.ErrSignature) {
			t.Errorf("a partition table on our store: %v", err)
		}
		write(int64(size-block), "\x00\x00\x00\x00\x00\x00\x00\x00")
		write(20, "\xff")
		if _, err := blockdev.Open(t.Context(), l.Path, phrase(t, l.Path), 0); !errors.Is(err, blockdev.ErrNotEmpty) {
			t.Errorf("a damaged superblock: %v", err)
		}
	}
}

// Clear makes a device that was written to empty for the guards.
func TestClear(t *testing.T) {
	l := loop(t, 512)
	for range 2 {
		d, err := blockdev.Open(t.Context(), l.Path, phrase(t, l.Path), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := rawblock.Format(t.Context(), d, rawblock.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.Clear(t.Context()), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := blockdev.Inspect(t.Context(), l.Path, 0); err != nil || p.Ours || len(p.Refusals) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// Neither engine writes outside the range, however it is asked.
func TestWritesStayInTheRange(t *testing.T) {
	const bytes = 1 << 20
	for _, engine := range []rawblock.Engine{rawblock.Posix, rawblock.IOUring} {
		t.Run(string(engine), func(t *testing.T) {
			l := loop(t, 512)
			d, err := blockdev.Open(t.Context(), l.Path, phrase(t, l.Path), bytes)
			if err != nil {
				t.Fatal(err)
			}
			dev := rawblock.Device(d)
			write := func(w rawblock.IO) error { return dev.Write(t.Context(), w) }
			if engine == rawblock.IOUring {
				ring, err := onRing(d)
				if errors.Is(err, rawblock.ErrNotBuilt) || errors.Is(err, rawblock.ErrBlocked) {
					labtest.Require(t, "iouring", err) // LATLAB_REQUIRE_REAL
				} else if err != nil {
					t.Fatal(err)
				}
				dev = ring
				write = func(w rawblock.IO) error {
					return errors.Join(ring.Write(t.Context(), w), ring.WriteBatch(t.Context(), []rawblock.IO{w}, nil))
				}
			}
			if dev.Size() != bytes || dev.BlockSize() != 512 {
				t.Errorf("%d bytes in blocks of %d", dev.Size(), dev.BlockSize())
			}
			mem, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				t.Fatal(err)
			}
			for i := range mem {
				mem[i] = 7
			}
			if err := write(rawblock.IO{Off: bytes - 4096, Buf: mem}); err != nil {
				t.Errorf("the range's last blocks: %v", err)
			}
			for _, off := range []int64{bytes, bytes - 512, size - 4096, size, -4096, 1<<63 - 4096} {
				if err := write(rawblock.IO{Off: off, Buf: mem}); !errors.Is(err, rawblock.ErrRange) {
					t.Errorf("4096 bytes at %d: %v, want ErrRange", off, err)
				}
			}
			if err := errors.Join(dev.Close(), unix.Munmap(mem)); err != nil {
				t.Error(err)
			}
			disk, err := os.ReadFile(l.Path)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range disk {
				if inside := i >= bytes-4096 && i < bytes; (c == 7) != inside || !inside && c != 0 {
					t.Fatalf("byte %d is %d", i, c)
				}
			}
		})
	}
}

func onRing(d *blockdev.Device) (rawblock.Batcher, error) { return uring.New(d, uring.Options{}) }

func TestFromEnv(t *testing.T) {
	t.Setenv(blockdev.DeviceVariable, "")
	t.Setenv(blockdev.ConsentVariable, "anything")
	if _, err := blockdev.FromEnv(t.Context(), 0); !errors.Is(err, blockdev.ErrNoDevice) {
		t.Errorf("no device: %v", err)
	}
	if err := blockdev.ProbeEnv(t.Context()); !errors.Is(err, blockdev.ErrNoDevice) {
		t.Errorf("no device: %v", err)
	}
	l := loop(t, 512)
	t.Setenv(blockdev.DeviceVariable, l.Path)
	if _, err := blockdev.FromEnv(t.Context(), 0); !errors.Is(err, blockdev.ErrConsent) {
		t.Errorf("wrong phrase: %v", err)
	}
	if err := blockdev.ProbeEnv(t.Context()); !errors.Is(err, blockdev.ErrConsent) {
		t.Errorf("wrong phrase: %v", err)
	}
	t.Setenv(blockdev.ConsentVariable, phrase(t, l.Path).Serial)
	if err := blockdev.ProbeEnv(t.Context()); err != nil {
		t.Error(err)
	}
	d, err := blockdev.FromEnv(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if d.Size() != 1<<20 || d.Plan().Path != l.Path {
		t.Errorf("%d bytes of %s", d.Size(), d.Plan().Path)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := loop(t, 512)
	if _, err := blockdev.Open(ctx, l.Path, blockdev.Consent{}, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
