package model

import (
	"context"
	"fmt"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/lab/relation"
	"latlab.example/common/sim/param"
	"latlab.example/rawblock"
)

// asks runs setups until one fails.
type asks struct {
	ctx context.Context
	t   param.Table
	err error
}

// ms is the time of a PutMany in milliseconds.
func (a *asks) ms(s Setup, t param.Table) float64 {
	f, err := PutMany(a.ctx, s, t, 1, 1, nil)
	if err != nil && a.err == nil {
		a.err = err
	}
	return millis(f.Took)
}

// on is the study's setup: objects of 64 B, header and payload apart.
func on(d Device, channels int, strategy rawblock.Strategy, keys int, latency time.Duration) Setup {
	return Setup{
		Strategy: strategy, Batches: true, Layout: rawblock.Split, Durability: rawblock.NoFlush,
		Keys: keys, Payload: 64, Device: d, Channels: channels, Latency: latency,
	}
}

const parallel = 32 // channels of the device that the relations call parallel

func change(is, was float64) string { return fmt.Sprintf("%+.0f %%", 100*(is/was-1)) }

// Relations are what the study says about PutMany, with the model's answers for
// the parameters. The error is the context's.
func Relations(ctx context.Context, t param.Table) ([]relation.Relation, error) {
	a := &asks{ctx: ctx, t: t}
	two, err := t.Set(Threads, 2)
	if err != nil {
		return nil, err
	}
	short, long := us(50), us(200)
	ms := func(d Device, s rawblock.Strategy, keys int, l time.Duration) float64 {
		return a.ms(on(d, parallel, s, keys, l), t)
	}
	loop, fan, batch := ms(Channels, rawblock.Sequential, 100, short), ms(Channels, rawblock.FanOut, 100, short), ms(Channels, rawblock.Batch, 100, short)
	apart, apartFan := ms(UnbatchedHeaders, rawblock.Batch, 100, short), ms(UnbatchedHeaders, rawblock.FanOut, 100, short)
	apartTwo := a.ms(on(UnbatchedHeaders, 1, rawblock.FanOut, 100, short), two)
	thousand, thousandFan := ms(UnbatchedHeaders, rawblock.Batch, 1000, long), ms(UnbatchedHeaders, rawblock.FanOut, 1000, long)
	thousandShort := ms(UnbatchedHeaders, rawblock.FanOut, 1000, short)
	sorted := on(UnbatchedHeaders, 1, rawblock.Batch, 100, short)
	sorted.Layout = rawblock.Aligned
	aligned := a.ms(sorted, t)

	oneLock, err := t.Set(Locked, 1_000_000)
	if err != nil {
		return nil, err
	}
	noLock, err := t.Set(Locked, 0)
	if err != nil {
		return nil, err
	}
	allLocked := a.ms(on(UnbatchedHeaders, 1, rawblock.Batch, 1000, long), oneLock)
	noneLocked := a.ms(on(UnbatchedHeaders, 1, rawblock.Batch, 1000, long), noLock)

	verdict := func(holds bool) lab.Verdict {
		if holds {
			return lab.Holds
		}
		return lab.Fails
	}
	all := []relation.Relation{
		{
			Name: "sequential-loses", Says: "one background call, key by key, is slower than a task a key where the device is parallel",
			Rows: []string{"raw.sim.100.50.posix", "raw.sim.100.50.fanout"}, Published: "27.04 against 22.67 ms, +19 %",
			Modelled: fmt.Sprintf("%.2f against %.2f ms, %s, on %d channels", loop, fan, change(loop, fan), parallel),
			Verdict:  verdict(loop > fan),
			Why:      "the direction follows from any parallelism; the size doesn't: +19 % fits a fan-out that has fewer than two writes under way",
		},
		{
			Name: "batched-wins", Says: "one submission is faster than a task a key",
			Rows: []string{"raw.sim.100.50.uring", "raw.sim.100.50.fanout"}, Published: "16.24 against 22.67 ms, -28 %",
			Modelled: fmt.Sprintf("on %d channels %.2f against %.2f ms, %s; on unbatched-headers, the device that fits its rows, %.2f against %.2f ms, %s, and %s against two threads",
				parallel, batch, fan, change(batch, fan), apart, apartFan, change(apart, apartFan), change(apart, apartTwo)),
			Verdict: flips(batch < fan, apart < apartFan),
			Why:     "it rests on the device and on how many threads fan-out had, and the study names neither",
		},
		{
			Name: "batch-halves-the-loop", Says: "one submission takes 40 to 47 % less than key by key",
			Rows: []string{"raw.sim.100.50.uring", "raw.sim.100.50.posix"}, Published: "16.24 against 27.04 ms, -40 %",
			Modelled: fmt.Sprintf("on unbatched-headers %s; on %d channels %s", change(apart, loop), parallel, change(batch, loop)),
			Verdict:  verdict(apart < 0.7*loop && apart > 0.3*loop),
			Why:      "half the waits are left: one a key. A device that takes the whole batch at once would leave almost none",
		},
		{
			Name: "thousand-keys-lose", Says: "with 1000 keys at 200 us one submission is slower than a task a key, by its allocator under one lock",
			Rows: []string{"raw.sim.1000.200.uring", "raw.sim.1000.200.fanout"}, Published: "309.6 against 232.5 ms, +33 %",
			Modelled: fmt.Sprintf("%.1f against %.1f ms, %s; all of a key's CPU under the lock instead of none changes %.1f to %.1f ms", thousand, thousandFan, change(thousand, thousandFan), noneLocked, allLocked),
			Verdict:  verdict(thousand > thousandFan && allLocked > 1.05*noneLocked),
			Why:      "it loses, but by its headers' waits; the lock isn't where its time goes",
		},
		{
			Name: "fanout-gains-from-latency", Says: "with 1000 keys a task a key got faster as the latency went from 50 to 200 us",
			Rows: []string{"raw.sim.1000.50.fanout", "raw.sim.1000.200.fanout"}, Published: "321.6, then 232.5 ms",
			Modelled: fmt.Sprintf("%.1f, then %.1f ms", thousandShort, thousandFan),
			Verdict:  verdict(thousandFan < thousandShort),
			Why:      "no number of threads, channels or cores in the model makes a longer wait end sooner",
		},
		{
			Name: "aligned-cures", Says: "an aligned slot, header and payload in one write, would cure the header",
			Rows: []string{"raw.header.size"}, Published: "not measured there",
			Modelled: fmt.Sprintf("a batch on unbatched-headers takes %.2f ms instead of %.2f", aligned, apart),
			Verdict:  verdict(aligned < 0.2*apart),
			Why:      "without headers of their own nothing is left to be written one by one",
		},
	}
	return all, a.err
}

// flips is the verdict on what holds under one assumption and may fail under
// another.
func flips(one, other bool) lab.Verdict {
	switch {
	case one && other:
		return lab.Holds
	case !one && !other:
		return lab.Fails
	}
	return lab.Inconclusive
}
