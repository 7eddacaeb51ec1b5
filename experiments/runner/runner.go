package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
)

var (
	// ErrConfig occurs when a run can't be done as asked for.
	ErrConfig = errors.New("bad run configuration")
	// ErrModel occurs when a model breaks: with values of its parameters that it
	// can't take, as a rule.
	ErrModel = errors.New("the model can't run with these values")
	// ErrBaseline is why a row has no figures that the run ended without, since
	// there was nothing left to compare it with. The baseline's own row has the
	// reason.
	ErrBaseline = errors.New("the baseline is refused")
)

// Config is how to run.
type Config struct {
	Seed   uint64           // order and trial seeds follow from it
	Blocks int              // at least 1
	Min    time.Duration    // of a trial, in the rig's own time
	Budget time.Duration    // wall time of the whole run; one block is run in any case
	Host   host.Fingerprint // demanded by rigs in wall-clock time
	// Enough, if not nil, is asked after each block whether the figures are narrow
	// enough to stop. It must go by the width of intervals, never by a verdict or a
	// p-value: who stops when an effect shows will see effects that aren't there.
	Enough func(Set) bool
	// Times has each row keep the times of its operations, of counted trials. It
	// costs a call an operation, so it is heeded in virtual time only.
	Times bool
	// Progress, if not nil, is called on Run's goroutine after each trial.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Block, Blocks int           // Block is 0 while warming up
	Trial, Trials int           // within the block
	Left          time.Duration // an estimate; 0 while warming up
}

// Run runs the arms, the first being the baseline. The error wraps ErrConfig, in
// which case nothing was run, or it is what closing sessions gave, in which case
// the set is whole. A refused row or a cancelled context is no error: the set
// says so.
func Run(ctx context.Context, c Config, e lab.Experiment, r lab.Rig, arms []lab.Arm) (Set, error) {
	switch {
	case len(arms) == 0:
		return Set{}, fmt.Errorf("%w: no arms; choose at least one", ErrConfig)
	case c.Blocks < 1:
		return Set{}, fmt.Errorf("%w: %d blocks; ask for at least 1", ErrConfig, c.Blocks)
	case c.Budget <= 0:
		return Set{}, fmt.Errorf("%w: a budget of %v; give it time", ErrConfig, c.Budget)
	case wall(r) && c.Host.IsZero():
		return Set{}, fmt.Errorf("%w: rig %s needs a host fingerprint; pass host.Read's", ErrConfig, r.Name())
	}
	x := &run{Set: Set{Experiment: e, Rig: r, Config: c, Start: time.Now()}}
	for _, a := range arms {
		x.Rows = append(x.Rows, Row{Arm: a})
	}
	x.Rows = append(x.Rows, Row{Arm: arms[0], Control: true})
	x.sessions = make([]*lab.Session, len(x.Rows))

	x.open(ctx)
	x.blocks(ctx)
	x.Interrupted = ctx.Err() != nil
	x.Took = time.Since(x.Start)
	return x.Set, x.close()
}

// run is a set in the making.
type run struct {
	Set
	sessions []*lab.Session // by row; nil where refused
}

func (x *run) open(ctx context.Context) {
	for i := range x.Rows {
		s, err := x.Experiment.Open(ctx, x.Rig, x.Rows[i].Arm, x.Config.Host)
		if ctx.Err() != nil {
			if err == nil {
				x.sessions[i] = s
			}
			return
		}
		if err != nil {
			x.Rows[i].Refused = reason(err)
			if i == 0 {
				x.giveUp()
				return
			}
			continue
		}
		x.sessions[i], x.Rows[i].Stamp = s, s.Stamp()
	}
}

// blocks runs the warm-up and then blocks, until one of the ends that the
// package comment names. In virtual time there is nothing to warm up.
func (x *run) blocks(ctx context.Context) {
	if wall(x.Rig) {
		x.block(ctx, warmUp)
	}
	var longest time.Duration
	for b := range x.Config.Blocks {
		if ctx.Err() != nil || x.Rows[0].Refused != nil {
			return
		}
		if b > 0 && time.Since(x.Start)+longest > x.Config.Budget {
			x.OverBudget = true
			return
		}
		from := time.Now()
		x.block(ctx, b)
		longest = max(longest, time.Since(from))
		if c := x.Config.Enough; c != nil && x.Blocks == b+1 && b+1 < x.Config.Blocks && c(x.Set) {
			x.Narrow = true
			return
		}
	}
}

// giveUp refuses the rows that have no figures yet, because the baseline is
// refused. Those that have some keep them.
func (x *run) giveUp() {
	for i := range x.Rows {
		if r := &x.Rows[i]; r.Refused == nil && len(r.Trials) == 0 {
			x.refuse(i, ErrBaseline)
		}
	}
}

// block runs one trial of each row: one after the other where time is the host's,
// as many at once as there are processors in virtual time, which nobody disturbs.
// It ends early if the baseline is refused.
func (x *run) block(ctx context.Context, b int) {
	order, seeds := plan(x.Config.Seed, b, len(x.Rows))
	if wall(x.Rig) {
		for place, i := range order {
			if ctx.Err() != nil || x.Rows[0].Refused != nil {
				return
			}
			if x.sessions[i] != nil {
				x.take(ctx, b, place, i, seeds[i], x.trial(ctx, b, i, seeds[i]))
				x.report(b, place+1)
			}
		}
	} else {
		outcomes := x.together(ctx, b, order, seeds)
		for place, i := range order {
			if x.sessions[i] != nil && x.Rows[0].Refused == nil {
				x.take(ctx, b, place, i, seeds[i], outcomes[i])
			}
		}
	}
	if b != warmUp && ctx.Err() == nil && x.Rows[0].Refused == nil {
		x.Blocks = b + 1
	}
}

// together runs a block's trials side by side and gives their outcomes by row.
func (x *run) together(ctx context.Context, b int, order []int, seeds []uint64) []outcome {
	outcomes := make([]outcome, len(x.Rows))
	todo, done := make(chan int), make(chan struct{})
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(order)) {
		workers.Go(func() {
			for i := range todo {
				outcomes[i] = x.trial(ctx, b, i, seeds[i])
				done <- struct{}{}
			}
		})
	}
	go func() {
		defer close(todo)
		for _, i := range order {
			if x.sessions[i] != nil {
				todo <- i
			}
		}
	}()
	go func() {
		workers.Wait()
		close(done)
	}()
	n := 0
	for range done { // progress is told on this goroutine
		n++
		x.report(b, n)
	}
	return outcomes
}

// outcome is what became of a trial.
type outcome struct {
	trial   Trial
	typical metrics.Timeline // if it was asked for
	times   metrics.Dist     // likewise
	err     error
}

// take puts a trial's outcome into its row.
func (x *run) take(ctx context.Context, b, place, i int, seed uint64, o outcome) {
	if b == x.pictures() {
		x.Rows[i].Typical = o.typical
	}
	switch {
	case o.err != nil && ctx.Err() != nil:
	case o.err != nil:
		where := "warm-up"
		if b != warmUp {
			where = fmt.Sprintf("block %d", b+1)
		}
		x.refuse(i, fmt.Errorf("%s, seed %d: %w", where, seed, reason(o.err)))
		if i == 0 {
			x.giveUp()
		}
	case b != warmUp:
		o.trial.Block, o.trial.Place = b, place
		x.Rows[i].Trials = append(x.Rows[i].Trials, o.trial)
		x.Rows[i].Times.Merge(o.times)
	}
}

// pictures is the block in which timelines are kept: what is counted on the wall
// clock pays nothing for pictures.
func (x *run) pictures() int {
	if wall(x.Rig) {
		return warmUp
	}
	return 0
}

// trial runs one trial, with a look at the noise on both sides where time is the
// host's.
func (x *run) trial(ctx context.Context, b, i int, seed uint64) (o outcome) {
	s := x.sessions[i]
	pictures, times := b == x.pictures(), x.Config.Times && !wall(x.Rig)
	if pictures || times {
		var some thinned
		var all metrics.Histogram
		s.KeepTimelines(func(tl metrics.Timeline) {
			if pictures {
				some.add(tl)
			}
			if times {
				all.Record(tl.To - tl.From)
			}
		})
		defer func() {
			s.KeepTimelines(nil)
			o.typical, o.times = some.median(), all.Snapshot()
		}()
	}
	p := lab.Plan{Seed: seed, Min: x.Config.Min}
	start := time.Since(x.Start)
	if !wall(x.Rig) {
		r, err := virtually(ctx, s, p, x.Rig.Kind())
		return outcome{trial: Trial{Result: r, Dirty: r.Dirty(), Start: start, End: time.Since(x.Start)}, err: err}
	}
	runtime.GC() // else an arm pays for the garbage of the one before
	meter := host.StartNoise()
	r, err := s.Run(ctx, p)
	noise := meter.Stop()
	why, _ := noise.Dirty()
	return outcome{trial: Trial{Result: r, Noise: &noise, Dirty: joined(why, r.Dirty()), Start: start, End: time.Since(x.Start)}, err: err}
}

// virtually runs a trial in virtual time. A model that panics refuses its row, since
// anybody may give it any values: it must not end the program, which may be a server.
func virtually(ctx context.Context, s *lab.Session, p lab.Plan, k lab.Kind) (r lab.Result, err error) {
	if k == lab.KindVirtual {
		defer func() {
			if broken := recover(); broken != nil {
				why, _, _ := strings.Cut(fmt.Sprint(broken), "\n") // without its stack
				err = fmt.Errorf("%s: %w", s.Arm(), fmt.Errorf("%w: %s", ErrModel, why))
			}
		}()
	}
	return s.Run(ctx, p)
}

// refuse takes a row out of the run. Its figures so far go with it: a subject
// that fails is not to be believed.
func (x *run) refuse(i int, err error) {
	if s := x.sessions[i]; s != nil {
		if closing := s.Close(); closing != nil {
			err = fmt.Errorf("%w; and closing it: %w", err, closing)
		}
		x.sessions[i] = nil
	}
	x.Rows[i].Refused, x.Rows[i].Trials, x.Rows[i].Times = err, nil, metrics.Dist{}
}

func (x *run) report(block, trial int) {
	if x.Config.Progress == nil {
		return
	}
	p := Progress{Block: block + 1, Blocks: x.Config.Blocks, Trial: trial, Trials: len(x.Rows)}
	if block != warmUp {
		before := 0.0
		if wall(x.Rig) {
			before = 1 // the warm-up, which took as long as a block
		}
		done := before + float64(block) + float64(trial)/float64(p.Trials)
		left := before + float64(x.Config.Blocks) - done
		elapsed := time.Since(x.Start)
		p.Left = min(time.Duration(float64(elapsed)/done*left), max(0, x.Config.Budget-elapsed))
	}
	x.Config.Progress(p)
}

func (x *run) close() error {
	var errs []error
	for i, s := range x.sessions {
		if s == nil {
			continue
		}
		if err := s.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", x.Rows[i].Arm, err))
		}
	}
	return errors.Join(errs...)
}

// wall says whether the rig's time is this host's.
func wall(r lab.Rig) bool { return r.Kind() == lab.KindEmulated || r.Kind() == lab.KindReal }
