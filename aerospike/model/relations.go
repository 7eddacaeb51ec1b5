package model

import (
	"context"
	"fmt"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/lab/relation"
	"latlab.example/common/sim/param"
)

// relationWindow is the virtual time of each run behind Relations.
const relationWindow = 20 * time.Second

// asks runs loads until one fails, each once.
type asks struct {
	ctx   context.Context
	t     param.Table
	known map[Load]Figures
	err   error
}

func (a *asks) run(l Load) Figures {
	if f, ok := a.known[l]; ok || a.err != nil {
		return f
	}
	f, err := Run(a.ctx, l, a.t, 1, relationWindow, nil)
	a.known[l], a.err = f, err
	return f
}

func change(is, was float64) string { return fmt.Sprintf("%+.0f %%", 100*(is/was-1)) }

func verdict(holds bool) lab.Verdict {
	if holds {
		return lab.Holds
	}
	return lab.Fails
}

// near is a tolerance for figures that agree.
func near(is, want, tolerance float64) bool {
	return is >= want*(1-tolerance) && is <= want*(1+tolerance)
}

// Relations are what the study says of the lock, with the model's answers for the
// parameters. The error is the context's.
func Relations(ctx context.Context, t param.Table) ([]relation.Relation, error) {
	a := &asks{ctx: ctx, t: t, known: make(map[Load]Figures)}
	hg, hs := a.run(study(Held, Async, Gather)), a.run(study(Held, Async, Single))
	fg, fs := a.run(study(Free, Async, Gather)), a.run(study(Free, Async, Single))
	ohg, ohs := a.run(study(Held, Official, Gather)), a.run(study(Held, Official, Single))
	ofg, ofs := a.run(study(Free, Official, Gather)), a.run(study(Free, Official, Single))
	const p = 0.95
	waits := func(f Figures) (spawn, resume float64) {
		return f.StageMean("spawn_blocking_delay"), f.StageMean("resume_delay")
	}
	hSpawn, hResume := waits(hg)
	fSpawn, fResume := waits(fg)
	sSpawn, sResume := waits(hs)
	_, fsResume := waits(fs)

	// The layers: one set of 200 keys in A, as env A read them; all nine behind HTTP.
	ratio := func(l Layer, sets int) float64 {
		x := Load{Held, Single, Official, l, 10, sets, 200}
		y := x
		y.Client = Async
		return a.run(x).Mean() / a.run(y).Mean()
	}
	inA, inB, inC := ratio(A, 1), ratio(B, 9), ratio(C, 9)

	// One gather behind HTTP, without inference: alone, and with others.
	among := func(users int) Figures {
		l := study(Held, Async, Gather)
		l.Layer, l.Users = B, users
		return a.run(l)
	}
	alone, four := among(1), among(4)

	all := []relation.Relation{
		{
			Name: "mystery", Says: "a gather of nine sets takes 51 ms around reads of about a millisecond",
			Rows:      []string{"aero.mystery.outer", "aero.mystery.inner", "aero.timeline.done", "aero.timeline.key_parse_total"},
			Published: "51 ms, 0.9 ms inside; its nine key_parses take 13 ms",
			Modelled:  fmt.Sprintf("%.0f ms alone, %.0f ms among four users; io %.1f ms; nine key_parses %.1f ms", alone.Mean(), four.Mean(), alone.StageMean("io"), 9*alone.StageMean("key_parse")),
			Verdict:   flips(near(alone.Mean(), 51, 0.25), near(four.Mean(), 51, 0.25)),
			Why:       "it takes four users, and the study doesn't say how many there were. Key_parses of 1.46 ms each would fill the loop at fewer requests than it served",
		},
		{
			Name: "single-beats-gather", Says: "one read of all keys instead of nine takes a third off the mean, under the lock",
			Rows:      []string{"aero.k6.async.gather.avg", "aero.k6.async.single.avg", "aero.k6.async.gain.p95"},
			Published: "189 to 126 ms, -33 %; p95 434 to 302 ms, -30 %",
			Modelled:  fmt.Sprintf("%.0f to %.0f ms, %s; p95 %.0f to %.0f ms, %s", hg.Mean(), hs.Mean(), change(hs.Mean(), hg.Mean()), hg.Quantile(p), hs.Quantile(p), change(hs.Quantile(p), hg.Quantile(p))),
			Verdict:   verdict(hs.Mean() < 0.9*hg.Mean()),
			Why:       "both means are fitted. What they need is a hand-over of the lock that idles it for 0.4 ms: the two modes do the same work, so in a full closed loop nothing else can tell them apart by 63 ms",
		},
		{
			Name: "official-gains-too", Says: "the same change takes 63 ms off the official client's mean",
			Rows:      []string{"aero.k6.official.gather.avg", "aero.k6.official.single.avg"},
			Published: "251 to 188 ms, -25 %",
			Modelled:  fmt.Sprintf("%.0f to %.0f ms, %s", ohg.Mean(), ohs.Mean(), change(ohs.Mean(), ohg.Mean())),
			Verdict:   verdict(near(ohg.Mean(), 251, 0.1)),
			Why:       "251 is predicted: only the 188 was fitted, by the official client's work a key",
		},
		{
			Name: "gather-closes-without-lock", Says: "without the lock async's gather comes close to single",
			Rows:      []string{"aero.solo.async.gather.p95", "aero.solo.async.single.p95"},
			Published: "p95 107 and 97 ms, -9 %",
			Modelled:  fmt.Sprintf("p95 %.0f and %.0f ms, %s; means %.0f and %.0f ms", fg.Quantile(p), fs.Quantile(p), change(fs.Quantile(p), fg.Quantile(p)), fg.Mean(), fs.Mean()),
			Verdict:   verdict(fs.Quantile(p) > 0.9*fg.Quantile(p)),
			Why:       "predicted: the hand-overs go with the lock, and the work is the same",
		},
		{
			Name: "p95-halves-without-lock", Says: "without the lock p95 falls by half and throughput rises by 47 %",
			Rows:      []string{"aero.free.e2e.p95.gil", "aero.free.e2e.p95.free", "aero.reqs.gil.off", "aero.reqs.free.async"},
			Published: "p95 189 to 97 ms, -49 %; requests 50.8 to 80.0/s, +57 %; iterations +47 %",
			Modelled:  fmt.Sprintf("p95 %.0f to %.0f ms, %s; requests %.1f to %.1f/s, %s", hs.Quantile(p), fs.Quantile(p), change(fs.Quantile(p), hs.Quantile(p)), hs.PerSec(), fs.PerSec(), change(fs.PerSec(), hs.PerSec())),
			Verdict:   verdict(fs.Quantile(p) < 0.75*hs.Quantile(p) && fs.PerSec() > 1.3*hs.PerSec()),
			Why:       "the 97 is predicted, the 80.0 fitted; with 50 ms between calls 10 users at 80.0/s have a mean of 75 ms",
		},
		{
			Name: "blocking-wait-vanishes", Says: "without the lock nobody waits in the blocking queue",
			Rows:      []string{"aero.stage.gil.spawn_blocking_delay", "aero.stage.free.spawn_blocking_delay"},
			Published: "234 to 0.12 ms",
			Modelled:  fmt.Sprintf("gather %.2f to %.2f ms, single %.2f ms", hSpawn, fSpawn, sSpawn),
			Verdict:   verdict(fSpawn < 0.05*hSpawn),
			Why:       "it was a wait for the lock",
		},
		{
			Name: "blocking-wait-of-234-ms", Says: "under the lock the mean wait in the blocking queue is 234 ms",
			Rows:      []string{"aero.stage.gil.spawn_blocking_delay", "aero.k6.async.gather.avg"},
			Published: "234 ms, in requests that take 189 or 126 ms",
			Modelled:  fmt.Sprintf("%.1f ms (gather), %.1f ms (single)", hSpawn, sSpawn),
			Verdict:   verdict(hSpawn > 100),
			Why:       "a stage that each request passes can't last longer than the request. With one event loop most of the waiting is before the loop's turns, and its rival for the lock waits for one turn",
		},
		{
			Name: "resume-delay-vanishes", Says: "without the lock nobody waits to be resumed",
			Rows:      []string{"aero.stage.gil.event_loop_resume_delay", "aero.stage.free.event_loop_resume_delay"},
			Published: "39.7 to about 0 ms",
			Modelled:  fmt.Sprintf("gather %.1f to %.1f ms, single %.1f to %.1f ms", hResume, fResume, sResume, fsResume),
			Verdict:   verdict(fResume < 0.05*hResume),
			Why:       "it falls, but not to 0: at 80.0 requests/s the one loop that runs key_parse, to_dict and merge is full, and 10 users wait somewhere. 0 needs several loops, or stage costs far under the published ones",
		},
		{
			Name: "io-inflates-under-lock", Says: "io takes six times as long under the lock, since parsing competes for it",
			Rows:      []string{"aero.stage.gil.io", "aero.stage.free.io"},
			Published: "7.51 against 1.27 ms",
			Modelled:  fmt.Sprintf("%.2f against %.2f ms", hg.StageMean("io"), fg.StageMean("io")),
			Verdict:   verdict(hg.StageMean("io") > 2*fg.StageMean("io")),
			Why:       "io is said to run without the lock, and so it does here. It inflates only if its end is stamped by code that needs the lock",
		},
		{
			Name: "inference-waits", Says: "inference, the control, doubles under the lock",
			Rows:      []string{"aero.inference.gil", "aero.inference.free"},
			Published: "43.5 against 20.7 ms",
			Modelled:  fmt.Sprintf("%.1f against %.1f ms; the lock is busy for %.0f %% of the time", millis(hs.Inference), millis(fs.Inference), 100*hs.LockBusy),
			Verdict:   verdict(hs.Inference > 3*fs.Inference/2),
			Why:       "fitted: it takes the lock eight times and waits for it each time. Holding it for 43.5 ms at 41.6/s would need 1.81 locks; the fit leaves it next to nothing",
		},
		{
			Name: "clients-gap-grows-without-lock", Says: "under equal conditions the gap between the clients in gather grows when the lock goes",
			Rows:      []string{"aero.k6.official.gather.p95", "aero.k6.async.gather.p95", "aero.solo.official.gather.p95", "aero.solo.async.gather.p95"},
			Published: "p95 502 against 434 ms, then 253 against 107 ms",
			Modelled: fmt.Sprintf("p95 %.0f against %.0f ms, then %.0f against %.0f ms; single %.0f against %.0f ms, then %.0f against %.0f ms",
				ohg.Quantile(p), hg.Quantile(p), ofg.Quantile(p), fg.Quantile(p), ohs.Quantile(p), hs.Quantile(p), ofs.Quantile(p), fs.Quantile(p)),
			Verdict: a.gapRests(),
			Why:     "it does if the official client works under a lock of its own there (official-lock = 1). If it doesn't, its threads build maps side by side while async's loop builds them one by one, and official is the faster",
		},
		{
			Name: "layers-shrink-the-gap", Says: "the mean gap between the clients shrinks with each layer around them",
			Rows:      []string{"aero.env.ratio.A.mean", "aero.env.ratio.B.mean", "aero.env.ratio.C.mean"},
			Published: "4.8, 1.27, 1.24",
			Modelled:  fmt.Sprintf("%.2f (a set of 200 keys), %.2f, %.2f", inA, inB, inC),
			Verdict:   verdict(inA > inB && inB > inC),
			Why:       "behind HTTP the official client's executor threads stand between the loop and the lock, which costs more than the layers dilute. And no cost a key fits both ends: official read 138 x 125 keys a second in A, and 42 x 1800 in C, with inference beside it",
		},
		{
			Name: "tail", Says: "p95 is three times the median",
			Rows:      []string{"aero.k6.async.single.p95", "aero.k6.async.single.median"},
			Published: "302 against 101 ms (gather: 434 against 176)",
			Modelled:  fmt.Sprintf("%.0f against %.0f ms (gather: %.0f against %.0f)", hs.Quantile(p), hs.Quantile(0.5), hg.Quantile(p), hg.Quantile(0.5)),
			Verdict:   verdict(hs.Quantile(p) > 2*hs.Quantile(0.5)),
			Why:       "a lock and a loop that serve in order of arrival make users wait alike. Such a tail needs an unfair lock, which CPython's is and the model's isn't, or loads mixed in one histogram",
		},
	}
	return all, a.err
}

// gapRests asks whether the gap between the clients in gather grows without the
// lock, with and without a lock of the official client's own.
func (a *asks) gapRests() lab.Verdict {
	grows := func(own int64) bool {
		t, err := a.t.Set(OfficialLock, own)
		if err != nil && a.err == nil {
			a.err = err
		}
		b := &asks{ctx: a.ctx, t: t, known: make(map[Load]Figures)}
		gap := func(l Lock) float64 {
			return b.run(study(l, Official, Gather)).Quantile(0.95) / b.run(study(l, Async, Gather)).Quantile(0.95)
		}
		held, free := gap(Held), gap(Free)
		if a.err == nil {
			a.err = b.err
		}
		return free > held
	}
	return flips(grows(1), grows(0))
}

// flips is the verdict on what holds in one sense, or under one assumption, and
// may fail in another.
func flips(one, other bool) lab.Verdict {
	switch {
	case one && other:
		return lab.Holds
	case !one && !other:
		return lab.Fails
	}
	return lab.Inconclusive
}

func millis(d time.Duration) float64 { return float64(d) / 1e6 }
