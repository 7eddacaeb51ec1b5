package model

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/lab/relation"
	"latlab.example/common/metrics"
	"latlab.example/common/sim/param"
)

// What the study says of its lock, and what the model gives.
func ExampleRelations() {
	all, err := Relations(context.Background(), Study())
	if err != nil {
		fmt.Println(err)
		return
	}
	relation.Write(os.Stdout, all)
	// Output:
	// mystery: inconclusive
	//   says       a gather of nine sets takes 51 ms around reads of about a millisecond (aero.mystery.outer, aero.mystery.inner, aero.timeline.done, aero.timeline.key_parse_total)
	//   published  51 ms, 0.9 ms inside; its nine key_parses take 13 ms
	//   modelled   19 ms alone, 48 ms among four users; io 1.3 ms; nine key_parses 5.0 ms
	//   because    it takes four users, and the study doesn't say how many there were. Key_parses of 1.46 ms each would fill the loop at fewer requests than it served
	// single-beats-gather: holds
	//   says       one read of all keys instead of nine takes a third off the mean, under the lock (aero.k6.async.gather.avg, aero.k6.async.single.avg, aero.k6.async.gain.p95)
	//   published  189 to 126 ms, -33 %; p95 434 to 302 ms, -30 %
	//   modelled   190 to 126 ms, -34 %; p95 221 to 146 ms, -34 %
	//   because    both means are fitted. What they need is a hand-over of the lock that idles it for 0.4 ms: the two modes do the same work, so in a full closed loop nothing else can tell them apart by 63 ms
	// official-gains-too: holds
	//   says       the same change takes 63 ms off the official client's mean (aero.k6.official.gather.avg, aero.k6.official.single.avg)
	//   published  251 to 188 ms, -25 %
	//   modelled   264 to 188 ms, -29 %
	//   because    251 is predicted: only the 188 was fitted, by the official client's work a key
	// gather-closes-without-lock: holds
	//   says       without the lock async's gather comes close to single (aero.solo.async.gather.p95, aero.solo.async.single.p95)
	//   published  p95 107 and 97 ms, -9 %
	//   modelled   p95 99 and 95 ms, -4 %; means 76 and 74 ms
	//   because    predicted: the hand-overs go with the lock, and the work is the same
	// p95-halves-without-lock: holds
	//   says       without the lock p95 falls by half and throughput rises by 47 % (aero.free.e2e.p95.gil, aero.free.e2e.p95.free, aero.reqs.gil.off, aero.reqs.free.async)
	//   published  p95 189 to 97 ms, -49 %; requests 50.8 to 80.0/s, +57 %; iterations +47 %
	//   modelled   p95 146 to 95 ms, -35 %; requests 56.4 to 79.8/s, +42 %
	//   because    the 97 is predicted, the 80.0 fitted; with 50 ms between calls 10 users at 80.0/s have a mean of 75 ms
	// blocking-wait-vanishes: holds
	//   says       without the lock nobody waits in the blocking queue (aero.stage.gil.spawn_blocking_delay, aero.stage.free.spawn_blocking_delay)
	//   published  234 to 0.12 ms
	//   modelled   gather 1.29 to 0.00 ms, single 3.07 ms
	//   because    it was a wait for the lock
	// blocking-wait-of-234-ms: fails
	//   says       under the lock the mean wait in the blocking queue is 234 ms (aero.stage.gil.spawn_blocking_delay, aero.k6.async.gather.avg)
	//   published  234 ms, in requests that take 189 or 126 ms
	//   modelled   1.3 ms (gather), 3.1 ms (single)
	//   because    a stage that each request passes can't last longer than the request. With one event loop most of the waiting is before the loop's turns, and its rival for the lock waits for one turn
	// resume-delay-vanishes: fails
	//   says       without the lock nobody waits to be resumed (aero.stage.gil.event_loop_resume_delay, aero.stage.free.event_loop_resume_delay)
	//   published  39.7 to about 0 ms
	//   modelled   gather 35.5 to 11.2 ms, single 10.5 to 6.6 ms
	//   because    it falls, but not to 0: at 80.0 requests/s the one loop that runs key_parse, to_dict and merge is full, and 10 users wait somewhere. 0 needs several loops, or stage costs far under the published ones
	// io-inflates-under-lock: fails
	//   says       io takes six times as long under the lock, since parsing competes for it (aero.stage.gil.io, aero.stage.free.io)
	//   published  7.51 against 1.27 ms
	//   modelled   1.31 against 1.31 ms
	//   because    io is said to run without the lock, and so it does here. It inflates only if its end is stamped by code that needs the lock
	// inference-waits: holds
	//   says       inference, the control, doubles under the lock (aero.inference.gil, aero.inference.free)
	//   published  43.5 against 20.7 ms
	//   modelled   44.9 against 21.3 ms; the lock is busy for 100 % of the time
	//   because    fitted: it takes the lock eight times and waits for it each time. Holding it for 43.5 ms at 41.6/s would need 1.81 locks; the fit leaves it next to nothing
	// clients-gap-grows-without-lock: inconclusive
	//   says       under equal conditions the gap between the clients in gather grows when the lock goes (aero.k6.official.gather.p95, aero.k6.async.gather.p95, aero.solo.official.gather.p95, aero.solo.async.gather.p95)
	//   published  p95 502 against 434 ms, then 253 against 107 ms
	//   modelled   p95 280 against 221 ms, then 184 against 99 ms; single 207 against 146 ms, then 114 against 95 ms
	//   because    it does if the official client works under a lock of its own there (official-lock = 1). If it doesn't, its threads build maps side by side while async's loop builds them one by one, and official is the faster
	// layers-shrink-the-gap: fails
	//   says       the mean gap between the clients shrinks with each layer around them (aero.env.ratio.A.mean, aero.env.ratio.B.mean, aero.env.ratio.C.mean)
	//   published  4.8, 1.27, 1.24
	//   modelled   1.58 (a set of 200 keys), 1.98, 1.50
	//   because    behind HTTP the official client's executor threads stand between the loop and the lock, which costs more than the layers dilute. And no cost a key fits both ends: official read 138 x 125 keys a second in A, and 42 x 1800 in C, with inference beside it
	// tail: fails
	//   says       p95 is three times the median (aero.k6.async.single.p95, aero.k6.async.single.median)
	//   published  302 against 101 ms (gather: 434 against 176)
	//   modelled   146 against 126 ms (gather: 221 against 191)
	//   because    a lock and a loop that serve in order of arrival make users wait alike. Such a tail needs an unfair lock, which CPython's is and the model's isn't, or loads mixed in one histogram
}

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

// Which assumption does "one read takes a third off the mean" rest on?
func Example_tornado() {
	gain := func(t param.Table) (float64, error) {
		gather, err := Run(context.Background(), study(Held, Async, Gather), t, 1, 5*time.Second, nil)
		if err != nil {
			return 0, err
		}
		single, err := Run(context.Background(), study(Held, Async, Single), t, 1, 5*time.Second, nil)
		return single.Mean() / gather.Mean(), err
	}
	base, bars, err := param.Tornado(Study(), gain)
	if err != nil {
		fmt.Println(err)
		return
	}
	param.WriteTornado(os.Stdout, base, bars[:5])
	flips, err := param.Flips(Study(), HandOver, 0, 400*microsecond, func(t param.Table) (string, error) {
		r, err := gain(t)
		if r < 0.9 {
			return "single gains 10 % or more", err
		}
		return "single gains less", err
	})
	fmt.Println(flips, err)
	// Output:
	// the outcome is 0.662
	// parameter         from   to   outcome at from  at to   source
	// hand-over         5us    1ms  1.066            0.5748  calibrated
	// work-share        0.3    1    0.5712           0.7485  calibrated
	// inference-locked  0      1    0.6632           0.8246  calibrated
	// inference-parts   1      40   0.5972           0.7524  calibrated
	// http              200us  5ms  0.644            0.7343  assumed
	// [hand-over: single gains less up to 79.687us, single gains 10 % or more from 80.468us (the model has 411us, calibrated)] <nil>
}

func TestRelationsOfTheStudy(t *testing.T) {
	all, err := Relations(t.Context(), Study())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]lab.Verdict{
		"mystery":             lab.Inconclusive,
		"single-beats-gather": lab.Holds, "official-gains-too": lab.Holds, "gather-closes-without-lock": lab.Holds,
		"p95-halves-without-lock": lab.Holds, "blocking-wait-vanishes": lab.Holds, "blocking-wait-of-234-ms": lab.Fails,
		"resume-delay-vanishes": lab.Fails, "io-inflates-under-lock": lab.Fails, "inference-waits": lab.Holds,
		"clients-gap-grows-without-lock": lab.Inconclusive, "layers-shrink-the-gap": lab.Fails, "tail": lab.Fails,
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
