package slowdisk

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
)

func newTestMedium(t *testing.T, c Config) *medium {
	t.Helper()
	c.Size = 64 * block
	c, err := c.ensureDefaults()
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMedium(c, emu.Sleep)
	if err != nil {
		t.Fatal(err)
	}
	m.armed.Store(true)
	return m
}

// All requests, flushes too, share the channels, in virtual time to the nanosecond.
func TestChannelsAreShared(t *testing.T) {
	for _, test := range []struct {
		channels int
		want     time.Duration
	}{{1, 4 * ms}, {2, 2 * ms}, {4, ms}, {9, ms}} {
		synctest.Test(t, func(t *testing.T) {
			m := newTestMedium(t, Config{Latency: emu.Constant(ms), Channels: test.channels})
			start := time.Now()
			done := make(chan error)
			go func() { _, err := m.write(t.Context(), blocks(1, 1), 0); done <- err }()
			go func() { _, err := m.write(t.Context(), blocks(1, 1), block); done <- err }()
			go func() { _, err := m.read(t.Context(), blocks(1, 1), 2*block); done <- err }()
			go func() { done <- m.flush(t.Context()) }()
			for range 4 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(start); took != test.want {
				t.Errorf("%d channels: %v, want %v", test.channels, took, test.want)
			}
			if got, want := m.counts(), (Counts{Reads: 1, Writes: 2, Flushes: 1, Peak: 4}); got != want {
				t.Errorf("%d channels: %+v, want %+v", test.channels, got, want)
			}
		})
	}
}

func TestSlowFaultAndTearDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMedium(t, Config{Latency: emu.Constant(ms), Faults: faults(t, "write:slow(5ms)@1")})
		start := time.Now()
		if _, err := m.write(t.Context(), blocks(1, 1), 0); err != nil || time.Since(start) != 6*ms {
			t.Errorf("slow: %v after %v, want 6ms", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), ms/2)
		defer cancel()
		if _, err := m.write(ctx, blocks(1, 2), 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("torn down: %v", err)
		}
		got := make([]byte, 1)
		if _, err := m.read(t.Context(), got, 0); err != nil || got[0] != 1 {
			t.Errorf("read %d, %v: a request that was torn down changes nothing", got[0], err)
		}
	})
}

// Before a disk is armed, the kernel's own requests cost nothing and don't count.
func TestUnarmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMedium(t, Config{Latency: emu.Constant(ms), Faults: faults(t, "read:error@1")})
		m.armed.Store(false)
		start := time.Now()
		n, err := m.read(t.Context(), blocks(1, 0), 63*block)
		if n != block || err != nil || time.Since(start) != 0 || m.counts() != (Counts{}) {
			t.Errorf("%d bytes, %v, %v, %+v; want a block at once, not counted", n, err, time.Since(start), m.counts())
		}
	})
}

// A store works on the disk, and what a failed write leaves is as on any device.
func TestStoreOnTheDisk(t *testing.T) {
	d := disk(t, Config{Size: 64 * block, Latency: emu.Constant(0), Faults: faults(t, "write:error@7")})
	f, err := d.File()
	if err != nil {
		t.Fatal(err)
	}
	s, err := rawblock.New(f, rawblock.Options{Strategy: rawblock.FanOut, Layout: rawblock.Aligned, Payload: 4000})
	if err != nil {
		t.Fatal(err)
	}
	var keys []rawblock.Key
	var objects [][]byte
	for i := range 10 {
		keys = append(keys, rawblock.KeyOf(string(rune('a'+i))))
		objects = append(objects, []byte{byte(i), 1, 2, 3})
	}
	res, err := s.PutMany(t.Context(), keys, objects)
	if res.Written != 9 || err == nil {
		t.Errorf("%+v, %v; want 9 written and the error of one", res, err)
	}
	found := 0
	for i, k := range keys {
		got, err := s.Get(t.Context(), k, nil)
		switch {
		case err == nil && string(got) == string(objects[i]):
			found++
		case !errors.Is(err, rawblock.ErrNotFound):
			t.Errorf("key %d: %v, %v", i, got, err)
		}
	}
	if found != 9 {
		t.Errorf("%d keys found, want 9", found)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// With direct I/O the kernel passes on requests that begin beyond the file's end.
func TestBeyondTheEnd(t *testing.T) {
	m := newTestMedium(t, Config{Latency: emu.Constant(0), PowerCuts: true})
	for _, off := range []int64{64 * block, 65 * block, 1 << 62} {
		if n, err := m.read(t.Context(), blocks(1, 1), off); n != 0 || err != nil {
			t.Errorf("read at %d: %d bytes, %v", off, n, err)
		}
		if n, err := m.write(t.Context(), blocks(1, 1), off); n != 0 || err != nil {
			t.Errorf("write at %d: %d bytes, %v", off, n, err)
		}
	}
	if lost := m.powerCut(); lost != 0 {
		t.Errorf("%d blocks were changed", lost)
	}
}
