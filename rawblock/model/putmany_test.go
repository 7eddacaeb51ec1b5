package model

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/quick"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/lab/relation"
	"latlab.example/common/sim/param"
	"latlab.example/rawblock"
)

// What the study says, and what the model of its machine gives.
func ExampleRelations() {
	t := Study()
	all, err := Relations(context.Background(), t)
	if err != nil {
		fmt.Println(err)
		return
	}
	relation.Write(os.Stdout, all)
	fmt.Println()
	t.WriteText(os.Stdout)
	// Output:
	// sequential-loses: holds
	//   says       one background call, key by key, is slower than a task a key where the device is parallel (raw.sim.100.50.posix, raw.sim.100.50.fanout)
	//   published  27.04 against 22.67 ms, +19 %
	//   modelled   27.00 against 7.20 ms, +275 %, on 32 channels
	//   because    the direction follows from any parallelism; the size doesn't: +19 % fits a fan-out that has fewer than two writes under way
	// batched-wins: inconclusive
	//   says       one submission is faster than a task a key (raw.sim.100.50.uring, raw.sim.100.50.fanout)
	//   published  16.24 against 22.67 ms, -28 %
	//   modelled   on 32 channels 1.83 against 7.20 ms, -75 %; on unbatched-headers, the device that fits its rows, 14.09 against 7.20 ms, +96 %, and +6 % against two threads
	//   because    it rests on the device and on how many threads fan-out had, and the study names neither
	// batch-halves-the-loop: holds
	//   says       one submission takes 40 to 47 % less than key by key (raw.sim.100.50.uring, raw.sim.100.50.posix)
	//   published  16.24 against 27.04 ms, -40 %
	//   modelled   on unbatched-headers -48 %; on 32 channels -93 %
	//   because    half the waits are left: one a key. A device that takes the whole batch at once would leave almost none
	// thousand-keys-lose: fails
	//   says       with 1000 keys at 200 us one submission is slower than a task a key, by its allocator under one lock (raw.sim.1000.200.uring, raw.sim.1000.200.fanout)
	//   published  309.6 against 232.5 ms, +33 %
	//   modelled   289.9 against 72.9 ms, +297 %; all of a key's CPU under the lock instead of none changes 289.9 to 289.9 ms
	//   because    it loses, but by its headers' waits; the lock isn't where its time goes
	// fanout-gains-from-latency: fails
	//   says       with 1000 keys a task a key got faster as the latency went from 50 to 200 us (raw.sim.1000.50.fanout, raw.sim.1000.200.fanout)
	//   published  321.6, then 232.5 ms
	//   modelled   69.7, then 72.9 ms
	//   because    no number of threads, channels or cores in the model makes a longer wait end sooner
	// aligned-cures: holds
	//   says       an aligned slot, header and payload in one write, would cure the header (raw.header.size)
	//   published  not measured there
	//   modelled   a batch on unbatched-headers takes 1.05 ms instead of 14.09
	//   because    without headers of their own nothing is left to be written one by one
	//
	// parameter  value   range       source                                                                                  what it is
	// cores      1       1..16       assumed: its code is Python, whose lock lets one thread work at a time                  cores that work for keys
	// key-cpu    9.2us   1us..30us   calibrated: raw.sim.100.0.posix                                                         CPU a key, without its writes
	// locked     0.1     0..1        assumed: a look-up and two changes of a list, out of a checksum and a copy              share of a key's CPU that is under the store's lock
	// write-cpu  0s      0s..10us    assumed: it is in key-cpu, from which the rows can't tell it                            CPU to submit a write and to reap it
	// dispatch   60.4us  1us..100us  calibrated: raw.sim.100.0.fanout less raw.sim.100.0.posix                               CPU to start a task
	// overshoot  80.4us  0s..100us   calibrated: raw.sim.*.posix, by FitPosix                                                added to each wait for the device that isn't zero
	// threads    32      1..1000     assumed: Python's executor has at most 32 unless told otherwise; the study doesn't say  single writes under way at once, at most
	// bandwidth  0       -           published: raw.sim.*, whose objects have 64 B                                           bytes a second that the channels share, 0 being any number
	// flush      0s      0s..5ms     assumed: the study doesn't flush                                                        a flush
}

// On how many channels is one submission as fast as a task a key, and which of
// the assumptions moves that answer most?
func Example_breakEven() {
	ctx, study := context.Background(), Study()
	ratio := func(channels int) func(param.Table) (float64, error) {
		return func(t param.Table) (float64, error) {
			fan, err := PutMany(ctx, on(Channels, channels, rawblock.FanOut, 100, us(200)), t, 1, 1, nil)
			if err != nil {
				return 0, err
			}
			batch, err := PutMany(ctx, on(Channels, channels, rawblock.Batch, 100, us(200)), t, 1, 1, nil)
			return float64(batch.Took) / float64(fan.Took), err
		}
	}
	for _, k := range []int{1, 4, 5, 6, 8, 32} {
		r, err := ratio(k)(study)
		fmt.Printf("%d channels: %.2f of fan-out's time %v\n", k, r, err)
	}
	base, bars, err := param.Tornado(study, ratio(8))
	if err != nil {
		fmt.Println(err)
		return
	}
	param.WriteTornado(os.Stdout, base, bars)
	// Output:
	// 1 channels: 1.01 of fan-out's time <nil>
	// 4 channels: 1.04 of fan-out's time <nil>
	// 5 channels: 1.04 of fan-out's time <nil>
	// 6 channels: 1.00 of fan-out's time <nil>
	// 8 channels: 0.83 of fan-out's time <nil>
	// 32 channels: 0.38 of fan-out's time <nil>
	// the outcome is 0.8336
	// parameter  from  to     outcome at from  at to   source
	// threads    1     1000   0.1409           0.8336  assumed
	// dispatch   1us   100us  1.118            0.5903  calibrated
	// cores      1     16     0.8336           1.069   assumed
	// locked     0     1      1.049            0.8427  assumed
	// overshoot  0s    100us  0.6849           0.8692  calibrated
	// key-cpu    1us   30us   0.7918           0.9258  calibrated
	// write-cpu  0s    10us   0.8336           0.7443  assumed
	// flush      0s    5ms    0.8336           0.8336  assumed
}

func TestRelationsOfTheGoal(t *testing.T) {
	all, err := Relations(t.Context(), Study())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]lab.Verdict{
		"sequential-loses": lab.Holds, "batched-wins": lab.Inconclusive, "batch-halves-the-loop": lab.Holds,
		"thousand-keys-lose": lab.Fails, "fanout-gains-from-latency": lab.Fails, "aligned-cures": lab.Holds,
	}
	for _, r := range all {
		if r.Verdict != want[r.Name] {
			t.Errorf("%s: %s (%s), want %s", r.Name, r.Verdict, r.Modelled, want[r.Name])
		}
		delete(want, r.Name)
	}
	for name := range want {
		t.Errorf("no relation %s", name)
	}
}

// The loop and the batch are simple enough to be worked out by hand.
func TestAgainstArithmetic(t *testing.T) {
	study := Study()
	cpu, wait := study.Time(KeyCPU), us(50)+study.Time(Overshoot)
	for _, test := range []struct {
		name  string
		setup Setup
		want  time.Duration
	}{
		{"the loop waits twice a key", on(Channels, 8, rawblock.Sequential, 100, us(50)), 100 * (cpu + 2*wait)},
		{"a batch of 200 writes on 8 channels", on(Channels, 8, rawblock.Batch, 100, us(50)), 100*cpu + 25*wait},
		{"a batch on any number of channels", on(OneWait, 0, rawblock.Batch, 100, us(50)), 100*cpu + wait},
		{"headers one by one", on(UnbatchedHeaders, 0, rawblock.Batch, 100, us(50)), 100*cpu + 101*wait},
		{"without latency", on(Channels, 8, rawblock.Sequential, 100, 0), 100 * cpu},
		{"one key is no batch", on(Channels, 8, rawblock.Batch, 1, us(50)), cpu + 2*wait},
	} {
		got, err := PutMany(t.Context(), test.setup, study, 1, 1, nil)
		if err != nil || got.Took != test.want {
			t.Errorf("%s: %v, %v; want %v", test.name, got.Took, err, test.want)
		}
		if test.setup.Layout == rawblock.Split && got.Writes != int64(2*test.setup.Keys) {
			t.Errorf("%s: %d writes of %d keys", test.name, got.Writes, test.setup.Keys)
		}
	}
}

// The batch of the process model is that of the closed fit, on every row.
func TestAgreesWithTheFit(t *testing.T) {
	f := FitPosix()
	for _, r := range PublishedRows {
		for _, c := range Candidates() {
			d, k := Device(c.Name), 1
			if n, err := fmt.Sscanf(c.Name, "%d-channel", &k); n == 1 && err == nil {
				d = Channels
			}
			got, err := PutMany(t.Context(), on(d, k, rawblock.Batch, r.Keys, r.Latency), Study(), 1, 1, nil)
			if want := f.Batch(c, r); err != nil || got.Took != want {
				t.Errorf("%s, %d keys at %v: %v, %v; the fit has %v", c.Name, r.Keys, r.Latency, got.Took, err, want)
			}
		}
	}
}

// Whatever the setup: more latency or fewer channels never helps, one channel
// serves one request at a time, and every write is counted.
func TestMonotone(t *testing.T) {
	strategies := []rawblock.Strategy{rawblock.Sequential, rawblock.FanOut, rawblock.Pool, rawblock.Batch}
	took := func(s Setup) Figures {
		f, err := PutMany(t.Context(), s, Study(), 1, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	property := func(strategy, keys, channels uint8, latency uint16, aligned, ordered bool) bool {
		s := on(Channels, int(channels)%16+1, strategies[strategy%4], int(keys)%60+1, us(int(latency)))
		if aligned {
			s.Layout = rawblock.Aligned
		}
		if ordered {
			s.Durability = rawblock.Ordered
		}
		is := took(s)
		slower, fewer := s, s
		slower.Latency += us(30)
		fewer.Channels = 1
		one := took(fewer)
		return took(slower).Took >= is.Took && one.Took >= is.Took && one.Took >= time.Duration(one.Writes)*s.Latency &&
			is.Writes >= int64(s.Keys) && is.Bytes >= is.Writes*block && is.Stay >= time.Duration(is.Writes)*s.Latency
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
}

// Reads: a loop waits for each, a submission for all on the channels.
func TestGetMany(t *testing.T) {
	study := Study()
	cpu, wait := study.Time(KeyCPU), us(50)+study.Time(Overshoot)
	for many, want := range map[bool]time.Duration{false: 100 * (cpu + wait), true: 100*cpu + 13*wait} {
		got, err := GetMany(t.Context(), on(Channels, 8, rawblock.Batch, 100, us(50)), study, 1, 2, many)
		if err != nil || got.Took != 2*want || got.Reads != 200 {
			t.Errorf("many %v: %v, %d reads, %v; want %v", many, got.Took, got.Reads, err, 2*want)
		}
	}
}

func TestWhatCanNotBeIsRefused(t *testing.T) {
	for _, s := range []Setup{on(Channels, 0, rawblock.Batch, 1, 0), on(OneWait, 1, rawblock.Batch, 0, 0)} {
		if _, err := PutMany(t.Context(), s, Study(), 1, 1, nil); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}
