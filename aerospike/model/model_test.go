package model

import (
	"math"
	"os"
	"testing"
	"time"

	"latlab.example/common/metrics"
)

// What the model takes for granted.
func ExampleStudy() {
	Study().WriteText(os.Stdout)
	// Output:
	// parameter         value    range           source                                                                                     what it is
	// pause             50ms     -               published: the load script                                                                 between a user's calls; none in layer A
	// cores             8        4..16           assumed: not published; four at least, since inference and loop take 2.7 without the lock  cores of the host
	// switch-interval   5ms      -               published: CPython's default                                                               how long a thread waits for the lock before it asks
	// hand-over         411us    5us..1ms        calibrated: aero.k6.async.gather.avg                                                       nobody works while the lock goes to a thread that waited
	// work-share        0.573    0.3..1          calibrated: aero.reqs.free.async                                                           share of a published mean of key_parse, to_dict and merge that is work; the rest was waiting
	// key-parse         4.835us  4.835us..7.3us  published: aero.stage.gil.key_parse / 200                                                  key_parse a key, in a call that keeps the lock
	// setup             46.5us   -               published: aero.stage.gil.future_setup                                                     setup a read, under the lock
	// schedule          49.5us   20us..83us      published: aero.stage.free.schedule_delay                                                  until a spawned task runs
	// io                1.07ms   500us..2ms      published: aero.stage.free.io less 200 keys of io-key                                      a read's network and server, without its keys
	// io-key            1us      500ns..4us      assumed: a real server's, over loopback                                                    the server's time a key
	// spread            1.5      1..4            assumed: no percentiles of stages were published that can be believed                      95th percentile over median, of io, inference and pause
	// into-object       3.96us   -               published: aero.stage.gil.into_object                                                      into_pyobject a read, under the lock, on the blocking pool
	// blocking-threads  512      8..512          assumed: the Rust runtime's default                                                        threads of the blocking pool
	// to-map            4.16us   3.95us..4.16us  published: aero.stage.gil.to_dict / 200                                                    to_dict a key, in a call that keeps the lock
	// eager             2.65us   0s..8us         calibrated: aero.k6.official.single.avg                                                    what the official client works a key beyond the other's key_parse and to_dict, under the lock
	// official-lock     1        0..1            assumed: a free-threaded build of it was still to be made                                  1: without the interpreter's lock the official client works under one of its own
	// merge             3.54ms   3.54ms..4.48ms  published: aero.stage.free.merge_to_dict                                                   sets put into one map or split by set, for 1800 keys, in code that can be interrupted
	// executor-threads  12       4..32           assumed: Python's default is cores + 4                                                     threads of the official client's executor
	// http              1ms      200us..5ms      assumed: request and response of an asyncio server, JSON included                          CPU of the server a request, under the lock, in layers B and C
	// inference         20.7ms   -               published: aero.inference.free                                                             the forward pass, alone, on a thread of its own
	// inference-locked  0.005    0..1            calibrated: aero.k6.async.single.avg                                                       share of inference that is under the lock
	// inference-parts   8        1..40           calibrated: aero.inference.gil                                                             how often inference takes the lock
}

// The parameters give the rows that they were fitted to, and a round of the fit
// leaves them where they are.
func TestCalibrated(t *testing.T) {
	fits, err := Fits(t.Context(), Study())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fits {
		if math.Abs(f.Got/f.Value-1) > 0.04 {
			t.Errorf("%s: the model gives %.4g, published %.4g", f.ID, f.Got, f.Value)
		}
	}
	if raceDetector {
		return
	}
	again, _, err := Calibrate(t.Context(), Study(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rows() {
		was, _ := Study().Get(r.Param)
		is, _ := again.Get(r.Param)
		if width := was.Hi - was.Lo; math.Abs(float64(is.Value-was.Value)) > 0.03*float64(width) {
			t.Errorf("%s: a round of the fit moves it from %s to %s", r.Param, was.Text(), is.Text())
		}
	}
}

// Little's law between the model's own figures, with the pause: users / (mean +
// pause) = throughput. And a lock can't be busy for more than the time.
func TestLittle(t *testing.T) {
	for _, l := range []Load{
		study(Held, Async, Gather), study(Free, Official, Single),
		{Held, Single, Async, B, 3, 2, 50}, {Held, Gather, Official, A, 10, 9, 50}, {Free, Gather, OfficialThread, A, 10, 1, 200},
	} {
		f, err := Run(t.Context(), l, Study(), 1, 20*time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		pause := 0.0
		if l.Layer != A {
			pause = 51.6 // the mean of a log-normal with median 50 and 1.5 times that at 95 %
		}
		if got := f.PerSec() * (f.Mean() + pause) / 1000; math.Abs(got/float64(l.Users)-1) > 0.02 {
			t.Errorf("%+v: throughput x (mean + pause) = %.3f users", l, got)
		}
		if f.LockBusy > 1 || f.LoopBusy > 1 || (l.Lock == Free) != (f.LockBusy == 0) {
			t.Errorf("%+v: lock busy %.3f, loop busy %.3f", l, f.LockBusy, f.LoopBusy)
		}
	}
}

// One user meets nobody: the request is the sum of its parts.
func TestAloneIsTheSumOfItsParts(t *testing.T) {
	params, err := Study().Set(Spread, 1_000_000) // no spread
	if err != nil {
		t.Fatal(err)
	}
	n := time.Duration(1800)
	part := func(d time.Duration) time.Duration { return params.Part(WorkShare, d) }
	want := params.Time(HTTP) + part(n*params.Time(KeyParse)) + part(params.Time(Setup)) + params.Time(Schedule) +
		params.Time(IO) + n*params.Time(IOKey) + part(params.Time(IntoObject)) + part(n*params.Time(ToMap)) +
		part(params.Time(Merge)) + params.Time(Inference)
	l := study(Free, Async, Single)
	l.Users = 1
	f, err := Run(t.Context(), l, params, 1, 10*time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(f.Response.Mean()); (got - want).Abs() > 5*time.Microsecond {
		t.Errorf("alone a request takes %v, want %v", got, want)
	}
	l.Lock = Held
	if f, err = Run(t.Context(), l, params, 1, 10*time.Second, nil); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(f.Response.Mean()); (got - want).Abs() > 5*time.Microsecond {
		t.Errorf("alone with a lock a request takes %v, want %v: nobody is there to wait for", got, want)
	}
}

// Each request leaves a timeline without unattributed time beyond a thousandth.
func TestWhereTheTimeGoes(t *testing.T) {
	for _, l := range []Load{study(Held, Async, Gather), study(Held, Official, Single), {Free, Single, Official, A, 4, 3, 50}} {
		var path metrics.Breakdown
		_, err := Run(t.Context(), l, Study(), 1, 5*time.Second, func(tl metrics.Timeline) { path.Add(tl.Critical()) })
		if err != nil || path.Ops == 0 {
			t.Fatalf("%+v: %d timelines, %v", l, path.Ops, err)
		}
		if path.Unattributed*1000 > path.Total {
			t.Errorf("%+v: %d of %d ns are unattributed", l, path.Unattributed, path.Total)
		}
	}
}

func TestWhatCanNotBeIsRefused(t *testing.T) {
	if _, err := Run(t.Context(), Load{Users: 1, Sets: 0, Batch: 1}, Study(), 1, time.Second, nil); err == nil {
		t.Error("no sets, and no error")
	}
}
