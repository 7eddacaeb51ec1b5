package fake_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/quick"
	"testing/synctest"
	"time"

	"latlab.example/common/emu"
	"latlab.example/common/emu/sleepcheck"
	"latlab.example/rawblock"
	"latlab.example/rawblock/fake"
)

const (
	us    = time.Microsecond
	block = 4096
)

func constant(d time.Duration) *emu.Sampler { return emu.NewSampler(emu.Constant(d), 0) }

func channels(t testing.TB, k int, d time.Duration, perChannel int64) fake.Medium {
	t.Helper()
	m, err := fake.NewChannels(k, constant(d), perChannel)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pairs are the writes of n keys in the study's layout: header, payload.
func pairs(n int) []rawblock.IO {
	var ws []rawblock.IO
	for i := range n {
		off := int64(i) * 2 * block
		ws = append(ws, rawblock.IO{Off: off, Buf: make([]byte, block), HeaderOnly: true},
			rawblock.IO{Off: off + block, Buf: make([]byte, block)})
	}
	return ws
}

// When each medium completes a batch of 2N writes, worked out by hand.
func TestMedia(t *testing.T) {
	for _, test := range []struct {
		name   string
		medium fake.Medium
		keys   int
		took   time.Duration
		depth  float64 // stay / took
	}{
		{"one wait", fake.OneWait{Latency: constant(50 * us)}, 100, 50 * us, 200},
		{"unbatched headers", fake.UnbatchedHeaders{Latency: constant(50 * us)}, 100, 101 * 50 * us, 200.0 / 101},
		{"1 channel", channels(t, 1, 50*us, 0), 2, 4 * 50 * us, (1 + 2 + 3 + 4) / 4.0},
		{"32 channels", channels(t, 32, 50*us, 0), 100, 7 * 50 * us, (32*(1+2+3+4+5+6) + 8*7) / 7.0},
		{"more channels than writes", channels(t, 1000, 50*us, 0), 100, 50 * us, 200},
		{"2 channels, 4096 B at 4.096 MB/s", channels(t, 2, 50*us, 4_096_000), 1, 1050 * us, 2},
	} {
		var start time.Time
		done, stay := test.medium.Serve(start, pairs(test.keys))
		if got := done.Sub(start); got != test.took {
			t.Errorf("%s: took %v, want %v", test.name, got, test.took)
		}
		if got := float64(stay) / float64(test.took); got < test.depth*0.999 || got > test.depth*1.001 {
			t.Errorf("%s: depth %.3f, want %.3f", test.name, got, test.depth)
		}
	}
}

// Channels are work-conserving: whatever comes when, k channels are never
// exceeded, and one by one is never faster than together.
func TestChannelsServeNoMoreThanK(t *testing.T) {
	property := func(gaps []uint8, k8 uint8) bool {
		k := int(k8%8) + 1
		m, err := fake.NewChannels(k, constant(50*us), 0)
		if err != nil {
			return false
		}
		var now time.Time
		var ends []time.Time
		for _, gap := range gaps {
			now = now.Add(time.Duration(gap) * us)
			done, stay := m.Serve(now, []rawblock.IO{{Buf: make([]byte, block)}})
			if stay < 50*us || done.Sub(now) != stay {
				return false
			}
			ends = append(ends, done)
		}
		for i, end := range ends { // in service during (end-50us, end]
			busy := 0
			for _, other := range ends {
				if other.After(end.Add(-50*us)) && !other.After(end) {
					busy++
				}
			}
			if busy > k {
				t.Logf("request %d: %d in service on %d channels", i, busy, k)
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestNoChannels(t *testing.T) {
	if _, err := fake.NewChannels(0, constant(0), 0); err == nil {
		t.Error("no channel, and no error")
	}
	if _, err := fake.NewChannels(1, constant(0), -1); err == nil {
		t.Error("negative bandwidth, and no error")
	}
}

func device(t testing.TB, m fake.Medium, faults string) *fake.Device {
	t.Helper()
	schedule, err := emu.ParseFaults(faults)
	if err != nil {
		t.Fatal(err)
	}
	d, err := fake.New(fake.Config{Size: 64 * block, Medium: m, Waiter: emu.Sleep, Faults: schedule})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// All callers share the medium: four callers of one channel wait for each other,
// in virtual time to the nanosecond.
func TestCallersShareTheDevice(t *testing.T) {
	for _, test := range []struct {
		k    int
		want time.Duration
	}{{1, 200 * us}, {2, 100 * us}, {4, 50 * us}} {
		synctest.Test(t, func(t *testing.T) {
			d := device(t, channels(t, test.k, 50*us, 0), "")
			start := time.Now()
			for i := range 4 {
				go func() {
					if err := d.Write(t.Context(), rawblock.IO{Off: int64(i) * block, Buf: make([]byte, block)}); err != nil {
						t.Error(err)
					}
				}()
			}
			synctest.Wait()
			time.Sleep(test.want - time.Nanosecond)
			synctest.Wait()
			before := d.Use()
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if took := time.Since(start); took != test.want {
				t.Errorf("%d channels: %v, want %v", test.k, took, test.want)
			}
			if before.Writes != 4 || before.Bytes != 4*block {
				t.Errorf("%d channels: %+v, want four writes", test.k, before)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	old, new := bytes.Repeat([]byte{1}, 2*block), bytes.Repeat([]byte{2}, 2*block)
	for _, test := range []struct {
		fault string
		fails bool
		is    error
		kept  int // bytes of the new data
	}{
		{"write:error@2", true, emu.ErrInjected, 0},
		{"write:short@2", true, rawblock.ErrShortWrite, block},
		{"write:torn@2", false, nil, block},
		{"write:reset@2", true, emu.ErrInjected, 0},
		{"write:slow(1ms)@2", false, nil, 2 * block},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := device(t, fake.OneWait{Latency: constant(50 * us)}, test.fault)
			if err := d.Write(t.Context(), rawblock.IO{Buf: old}); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			err := d.Write(t.Context(), rawblock.IO{Buf: new})
			if (err != nil) != test.fails || test.fails && !errors.Is(err, test.is) {
				t.Errorf("%s: %v", test.fault, err)
			}
			want := 50 * us
			if test.fault == "write:slow(1ms)@2" {
				want = 1050 * us
			}
			if took := time.Since(start); took != want {
				t.Errorf("%s: took %v, want %v", test.fault, took, want)
			}
			got := make([]byte, 2*block)
			if _, err := d.ReadAt(got, 0); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, append(bytes.Clone(new[:test.kept]), old[test.kept:]...)) {
				t.Errorf("%s: content is not %d new bytes and old ones", test.fault, test.kept)
			}
		})
	}
}

func TestReadFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := device(t, fake.OneWait{Latency: constant(50 * us)}, "read:short@1;read:error@2;read:slow(1ms)@3")
		buf := make([]byte, 2*block)
		if n, err := d.ReadAt(buf, 0); n != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("short: %d, %v", n, err)
		}
		if n, err := d.ReadAt(buf, 0); n != 0 || !errors.Is(err, emu.ErrInjected) {
			t.Errorf("error: %d, %v", n, err)
		}
		start := time.Now()
		if n, err := d.ReadAt(buf, 0); n != len(buf) || err != nil || time.Since(start) != 1050*us {
			t.Errorf("slow: %d, %v after %v", n, err, time.Since(start))
		}
	})
}

func TestBadRequestsAndConfigs(t *testing.T) {
	d := device(t, fake.OneWait{Latency: constant(0)}, "")
	for _, test := range []struct {
		off int64
		n   int
		is  error
	}{{1, block, fake.ErrUnaligned}, {0, block - 1, fake.ErrUnaligned}, {0, 0, fake.ErrUnaligned}, {64 * block, block, rawblock.ErrRange}, {-block, block, rawblock.ErrRange}, {1<<63 - block, block, rawblock.ErrRange}} {
		err := d.Write(t.Context(), rawblock.IO{Off: test.off, Buf: make([]byte, test.n)})
		if err == nil || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("write %d at %d: %v", test.n, test.off, err)
		}
		if _, err := d.ReadAt(make([]byte, test.n), test.off); err == nil {
			t.Errorf("read %d at %d: no error", test.n, test.off)
		}
	}
	misspelt, err := emu.ParseFaults("wirte:error@1")
	if err != nil {
		t.Fatal(err)
	}
	good := fake.Config{Size: block, Medium: fake.OneWait{Latency: constant(0)}, Waiter: emu.Sleep}
	for name, spoil := range map[string]func(*fake.Config){
		"no medium":       func(c *fake.Config) { c.Medium = nil },
		"no waiter":       func(c *fake.Config) { c.Waiter = nil },
		"half a block":    func(c *fake.Config) { c.Size = block / 2 },
		"misspelt faults": func(c *fake.Config) { c.Faults = misspelt },
	} {
		c := good
		spoil(&c)
		if _, err := fake.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNoSleepsInTheFake(t *testing.T) {
	found, err := sleepcheck.Find(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("%s: a fake waits with its rig's emu.Waiter", f)
	}
}
