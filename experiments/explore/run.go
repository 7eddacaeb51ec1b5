package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latlab.example/experiments/runner"
)

// trialMin is the least virtual time of a trial, as latlab run has it unless told
// otherwise. A model with a window of its own takes that if it is longer.
const trialMin = 100 * time.Millisecond

// Run runs the request's setting and gives emit an answer after each block of
// trials; the last one has Final set. It ends early, with the answer so far as the
// last, when emit returns false or the context ends after the first block.
//
// Errors for which [Asked] is true are the request's; others are the context's or
// the model's own.
func (c *Catalog) Run(ctx context.Context, q Request, emit func(Answer) bool) error {
	s, err := c.setting(q)
	if err != nil {
		return err
	}
	set, err := runner.Run(ctx, runner.Config{
		Seed: s.seed, Blocks: Blocks, Min: trialMin, Budget: time.Hour, Times: true,
		Enough: func(set runner.Set) bool { return !emit(s.answer(set)) },
	}, s.experiment, s.rig, s.arms)
	if err != nil {
		return err
	}
	if refused := set.Refused(); len(refused) > 0 {
		return refused[0].Reason // the page knows which setting it asked for
	}
	switch {
	case set.Blocks == 0: // only the context ends a run before that
		return context.Cause(ctx)
	case set.Narrow: // emit has had enough
		return nil
	}
	last := s.answer(set)
	if !last.Final {
		last.Final = true
		last.Cut = fmt.Sprintf("ended early, after %d of %d blocks", set.Blocks, Blocks)
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			last.Cut = fmt.Sprintf("time was up after %d of %d blocks", set.Blocks, Blocks)
		}
	}
	emit(last)
	return nil
}
