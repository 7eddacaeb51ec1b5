package slowdisk

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"latlab.example/common/emu"
	"latlab.example/common/emu/sleepcheck"
	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock"
)

const (
	block = 4096
	ms    = time.Millisecond
)

// disk opens one, or ends the test if this host has none.
func disk(t testing.TB, c Config) *Disk {
	t.Helper()
	c.Dir = t.TempDir()
	d, err := Open(t.Context(), c)
	switch {
	case errors.Is(err, ErrLoop):
		labtest.Require(t, "loop", err) // LATLAB_REQUIRE_REAL
	case errors.Is(err, ErrFUSE), errors.Is(err, ErrRoot), errors.Is(err, rawblock.ErrPlatform):
		labtest.Require(t, "fuse", err) // LATLAB_REQUIRE_REAL
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil && !errors.Is(err, ErrBusy) {
			t.Error(err)
		}
		left, err := os.ReadDir(c.Dir)
		if err != nil || len(left) != 0 {
			t.Errorf("left behind in the folder: %v, %v", left, err)
		}
	})
	return d
}

// device opens the disk for direct I/O until the test ends.
func device(t testing.TB, d *Disk) *rawblock.File {
	t.Helper()
	f, err := d.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// blocks makes n aligned blocks full of one byte.
func blocks(n int, with byte) []byte {
	buf := make([]byte, (n+1)*block)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))) & (block - 1)
	buf = buf[skip : skip+n*block : skip+n*block]
	for i := range buf {
		buf[i] = with
	}
	return buf
}

func faults(t testing.TB, text string) *emu.Schedule {
	t.Helper()
	s, err := emu.ParseFaults(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, f rawblock.Device, at int, buf []byte) {
	t.Helper()
	if err := f.Write(t.Context(), rawblock.IO{Off: int64(at) * block, Buf: buf}); err != nil {
		t.Fatal(err)
	}
}

func wantBlock(t *testing.T, f rawblock.Device, at int, want byte) {
	t.Helper()
	got := blocks(1, 0xee)
	if _, err := f.ReadAt(got, int64(at)*block); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, blocks(1, want)) {
		t.Errorf("block %d begins with %d, want %d", at, got[0], want)
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		child(dir)
	}
	goleak.VerifyTestMain(m)
}

func TestRoundTripAndCounts(t *testing.T) {
	d := disk(t, Config{Size: 64 * block, Latency: emu.Constant(0)})
	f := device(t, d)
	wantBlock(t, f, 63, 0)
	write(t, f, 0, blocks(1, 1))
	write(t, f, 63, blocks(1, 63))
	if err := f.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantBlock(t, f, 0, 1)
	wantBlock(t, f, 63, 63)
	if got, want := d.Counts(), (Counts{Reads: 3, Writes: 2, Flushes: 1, Peak: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if err := f.Write(t.Context(), rawblock.IO{Off: 64 * block, Buf: blocks(1, 1)}); err == nil {
		t.Error("write beyond the end: no error")
	}
}

// The study's largest slot stays one request.
func TestLargeWriteIsOneRequest(t *testing.T) {
	d := disk(t, Config{Size: 1 << 20, Latency: emu.Constant(0)})
	f := device(t, d)
	write(t, f, 0, blocks(65, 1))
	if got := d.Counts(); got.Writes != 1 {
		t.Errorf("%d writes, want 1", got.Writes)
	}
}

// The logical block is that of the kernel's block device.
func TestBlockSize(t *testing.T) {
	for _, size := range []int{512, 4096} {
		d := disk(t, Config{Size: 1 << 20, Block: size, Latency: emu.Constant(0)})
		got, err := os.ReadFile("/sys/block/" + strings.TrimPrefix(d.Path(), "/dev/") + "/queue/logical_block_size")
		if err != nil {
			t.Fatal(err)
		}
		f := device(t, d)
		want := map[int]string{512: "512\n", 4096: "4096\n"}[size]
		if string(got) != want || f.BlockSize() != size {
			t.Errorf("kernel says %q, device %d, want %d", got, f.BlockSize(), size)
		}
	}
}

// Requests of many callers are at the medium together. Without asynchronous
// direct I/O in the kernel the peak would be 1.
func TestRequestsAreServedTogether(t *testing.T) {
	const callers = 16
	d := disk(t, Config{Size: 64 * block, Latency: emu.Constant(100 * ms), Channels: callers})
	f := device(t, d)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			if err := f.Write(context.Background(), rawblock.IO{Off: int64(2*i) * block, Buf: blocks(1, 1)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := d.Counts(); got.Peak < callers/2 {
		t.Errorf("peak %d, want most of %d", got.Peak, callers)
	}
}

// What each fault does to the store above the kernel: see the package's comment.
func TestFaultsThroughTheKernel(t *testing.T) {
	for _, test := range []struct {
		name, schedule string
		act            func(f *rawblock.File) error
		fails          bool
		first, second  byte // of the two blocks afterwards
	}{
		{"write error", "write:error@2", twoBlocks, true, 1, 1},
		{"write reset", "write:reset@2", twoBlocks, true, 1, 1},
		{"write torn", "write:torn@2", twoBlocks, false, 2, 1},
		{"write short", "write:short@2", twoBlocks, true, 2, 1},
		{"write slow", "write:slow(1ms)@2", twoBlocks, false, 2, 2},
		{"read error", "read:error@1", readTwo, true, 1, 1},
		{"read short", "read:short@1", readTwo, false, 1, 1}, // the loop driver reads the rest
		{"flush error", "flush:error@1", flush, true, 1, 1},
		{"flush dropped", "flush:torn@1", flush, false, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := disk(t, Config{Size: 64 * block, Latency: emu.Constant(0), Faults: faults(t, test.schedule)})
			f := device(t, d)
			write(t, f, 0, blocks(2, 1))
			if err := test.act(f); (err != nil) != test.fails {
				t.Errorf("%v, want an error: %v", err, test.fails)
			}
			wantBlock(t, f, 0, test.first)
			wantBlock(t, f, 1, test.second)
		})
	}
}

func twoBlocks(f *rawblock.File) error {
	return f.Write(context.Background(), rawblock.IO{Buf: blocks(2, 2)})
}

func flush(f *rawblock.File) error { return f.Flush(context.Background()) }

func readTwo(f *rawblock.File) error {
	buf := blocks(2, 0xee)
	_, err := f.ReadAt(buf, 0)
	if err == nil && !bytes.Equal(buf, blocks(2, 1)) {
		err = errors.New("read other bytes than were written")
	}
	return err
}

// A power cut loses what wasn't flushed, and what a dropped flush only claimed.
func TestPowerCut(t *testing.T) {
	d := disk(t, Config{Size: 64 * block, Latency: emu.Constant(0), PowerCuts: true, Faults: faults(t, "flush:torn@2")})
	f := device(t, d)
	write(t, f, 0, blocks(2, 1))
	if err := f.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, f, 1, blocks(2, 2))
	write(t, f, 1, blocks(1, 3))
	if err := f.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := d.Counts(); got.Flushes != 2 || got.Dropped != 1 {
		t.Errorf("%+v, want 2 flushes, 1 dropped", got)
	}
	wantBlock(t, f, 1, 3)
	if lost := d.PowerCut(); lost != 2 {
		t.Errorf("%d blocks lost, want 2", lost)
	}
	for at, want := range []byte{1, 1, 0} {
		wantBlock(t, f, at, want)
	}
	write(t, f, 2, blocks(1, 4))
	if err := f.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lost := d.PowerCut(); lost != 0 {
		t.Errorf("%d blocks lost after a flush", lost)
	}
	wantBlock(t, f, 2, 4)
}

// Close with the device open elsewhere ends its users with errors, and the mount.
func TestCloseWhileOpen(t *testing.T) {
	d := disk(t, Config{Size: 64 * block, Latency: emu.Constant(0)})
	f := device(t, d)
	write(t, f, 0, blocks(1, 1))
	if err := d.Close(); !errors.Is(err, ErrBusy) {
		t.Errorf("close: %v, want ErrBusy", err)
	}
	if err := f.Write(t.Context(), rawblock.IO{Buf: blocks(1, 2)}); err == nil {
		t.Error("write after close: no error")
	}
	if err := d.Close(); !errors.Is(err, ErrBusy) {
		t.Errorf("second close: %v, want the same error", err)
	}
}

// A waiting request doesn't keep Close waiting for ever.
func TestCloseEndsWaitingRequests(t *testing.T) {
	d := disk(t, Config{Size: 64 * block, Latency: emu.Constant(time.Hour)})
	f := device(t, d)
	failed := make(chan error)
	go func() { failed <- f.Write(context.Background(), rawblock.IO{Buf: blocks(1, 1)}) }()
	for d.Counts().Writes == 0 {
		time.Sleep(ms)
	}
	if err := d.Close(); !errors.Is(err, ErrBusy) {
		t.Errorf("close: %v, want ErrBusy", err)
	}
	if err := <-failed; err == nil {
		t.Error("the write succeeded")
	}
}

// quitter is a context that ends at its n-th question.
type quitter struct {
	context.Context
	left int
}

func (q *quitter) Err() error {
	if q.left--; q.left < 0 {
		return context.Canceled
	}
	return nil
}

// Wherever Open gives up, nothing is left.
func TestOpenGivesUp(t *testing.T) {
	disk(t, Config{Size: 64 * block, Latency: emu.Constant(0)}) // else there is nothing to test here
	loops := attached(t)
	dir := t.TempDir()
	steps := 0
	for ; ; steps++ {
		d, err := Open(&quitter{t.Context(), steps}, Config{Dir: dir, Size: 64 * block, Latency: emu.Constant(0)})
		if err == nil {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("step %d: %v", steps, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("step %d: left %v, %v", steps, left, err)
		}
		if now := attached(t); now != loops {
			t.Errorf("step %d: %d loop devices of ours, before %d", steps, now, loops)
		}
	}
	if steps < 4 {
		t.Errorf("Open asked its context %d times, want 4 or more", steps)
	}
}

// attached counts loop devices on a file of a slow disk.
func attached(t *testing.T) (n int) {
	t.Helper()
	all, err := os.ReadDir("/sys/block")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if name, err := os.ReadFile("/sys/block/" + b.Name() + "/loop/backing_file"); err == nil && strings.Contains(string(name), t.Name()) {
			n++
		}
	}
	return n
}

func TestBadConfigs(t *testing.T) {
	misspelt := faults(t, "wirte:error@1")
	for name, spoil := range map[string]func(*Config){
		"no latency":      func(c *Config) { c.Latency = nil },
		"no size":         func(c *Config) { c.Size = 0 },
		"half a block":    func(c *Config) { c.Size = block / 2 },
		"odd block":       func(c *Config) { c.Block = 1000 },
		"huge block":      func(c *Config) { c.Block = 8192 },
		"misspelt faults": func(c *Config) { c.Faults = misspelt },
		"channels":        func(c *Config) { c.Channels = -1 },
	} {
		c := Config{Size: 64 * block, Latency: emu.Constant(0)}
		spoil(&c)
		d, err := Open(t.Context(), c)
		if err == nil {
			_ = d.Close()
		}
		if !errors.Is(err, ErrConfig) && !errors.Is(err, rawblock.ErrPlatform) && !errors.Is(err, ErrRoot) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d, err := Open(t.Context(), Config{Dir: "/nonexistent", Size: block, Latency: emu.Constant(0)}); err == nil {
		_ = d.Close()
		t.Error("no such folder, and no error")
	}
}

func TestNoSleepsInTheDisk(t *testing.T) {
	found, err := sleepcheck.Find(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("%s: a fake waits with its rig's emu.Waiter", f)
	}
}
