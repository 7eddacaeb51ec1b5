package cli

import (
	"fmt"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

// plan is a line that says what is about to be run on a rig, and the least time
// that it takes: more where a rig is calibrated or an operation is long. It warns
// if the budget, of which the rig may have a part, ends the run before an
// interval can be known. A model's time isn't this host's, so nothing is known of
// how long it takes.
func (f runFlags) plan(j job, c runner.Config, shared bool) string {
	what := fmt.Sprintf("%s: %s and a control, %s", j.rig.Name(), count(len(j.arms), "arm"), count(c.Blocks, "block"))
	if k := j.rig.Kind(); k != lab.KindEmulated && k != lab.KindReal {
		return what + ", in virtual time"
	}
	block := c.Min.Seconds() * float64(len(j.arms)+1)
	what += ": at least " + length(block*(float64(c.Blocks)+1)) // and the warm-up
	// The runner starts no block that would end after the budget.
	need, fit := stats.NeedBlocks(), max(1, c.Budget.Seconds()/block-1)
	if c.Blocks < need || fit >= float64(need) {
		return what
	}
	part := ""
	if shared {
		part = "the rig's " + length(c.Budget.Seconds()) + " of "
	}
	return fmt.Sprintf("%s; warning: %sthe budget of %v is spent after %s or fewer, and an interval needs %d", what, part, f.budget, count(int(fit), "block"), need)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// length writes so many seconds. More than a duration can hold is its longest.
func length(seconds float64) string {
	const longest = 1 << 62
	return time.Duration(min(seconds*1e9, longest)).Round(time.Millisecond).String()
}
