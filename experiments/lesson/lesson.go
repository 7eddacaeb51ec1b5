// Package lesson teaches with a case's own experiments: a mystery, a question to
// predict, the run, the comparison with the prediction, the next toggle. Its
// exercises have a checker, and a first idea that fails.
//
// Lessons run models and real code in virtual time, so they give the same figures
// on every machine and need no server.
package lesson

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/registry"
	"latlab.example/experiments/report"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

// Lesson is one case's.
type Lesson struct {
	Case    string
	Title   string
	Minutes int // for a person who thinks before each answer
	Steps   []Step
	// Exercises are solved by flipping toggles, see [Exercise].
	Exercises []Exercise
}

// Step tells something, asks for a prediction, and runs what answers it.
type Step struct {
	Text string // told first
	Ask  string // the question; the answer is a change in percent
	Run  Run
	Then string // told after the comparison
}

// Run is two arms of an experiment: a baseline and one setting changed.
type Run struct {
	Experiment, Rig string
	Base            string   // the baseline's levels that aren't the experiment's own, as a=b/c=d
	Change          string   // levels of the other arm, likewise
	Unit            lab.Unit // whose change is asked for; lab.SecPerOp if it has no name
}

// blocks are enough for an interval.
const blocks = 6

// Seed is that of every run of a lesson: what is told must be what is printed.
const Seed = 1

// Outcome is what a run gave.
type Outcome struct {
	Set      runner.Set
	Analysis stats.Analysis
	Base     stats.Row
	Changed  stats.Row
	Unit     lab.Unit
	Ratio    lab.Interval
}

// Do runs both arms.
func (r Run) Do(ctx context.Context, list registry.List) (Outcome, error) {
	e, err := list.Find(r.Experiment)
	if err != nil {
		return Outcome{}, err
	}
	rig, err := e.Rig(r.Rig)
	if err != nil {
		return Outcome{}, err
	}
	base, err := arm(e, rig, r.Base)
	if err != nil {
		return Outcome{}, err
	}
	changed, err := with(base, r.Change)
	if err != nil {
		return Outcome{}, err
	}
	return do(ctx, e, rig, base, changed, r.unit())
}

func (r Run) unit() lab.Unit {
	if r.Unit.Name == "" {
		return lab.SecPerOp
	}
	return r.Unit
}

func do(ctx context.Context, e lab.Experiment, rig lab.Rig, base, changed lab.Arm, u lab.Unit) (Outcome, error) {
	set, err := runner.Run(ctx, runner.Config{Seed: Seed, Blocks: blocks, Min: 100 * time.Millisecond, Budget: time.Hour}, e, rig, []lab.Arm{base, changed})
	if err != nil {
		return Outcome{}, err
	}
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	if refused := set.Refused(); len(refused) > 0 {
		return Outcome{}, fmt.Errorf("%s on rig %s: %w", e.Name, rig.Name(), refused[0].Reason)
	}
	o := Outcome{Set: set, Analysis: stats.Analyse(set), Unit: u}
	for _, t := range o.Analysis.Tables {
		for _, r := range t.Rows {
			if r.Arm.String() == base.String() {
				o.Base = r
			} else {
				o.Changed = r
			}
		}
	}
	if o.Changed.Effect == nil {
		return Outcome{}, fmt.Errorf("%s on rig %s: %s is the baseline itself", e.Name, rig.Name(), changed)
	}
	o.Ratio = o.Changed.Effect.Ratios[u.Name]
	return o, nil
}

// arm is the experiment's arm with these levels.
func arm(e lab.Experiment, rig lab.Rig, levels string) (lab.Arm, error) {
	if levels == "" {
		arms, err := e.Arms(rig, lab.Selection{})
		if err != nil {
			return lab.Arm{}, err
		}
		return arms[0], nil
	}
	return e.ParseArm(rig, levels)
}

// with is the arm with other levels.
func with(a lab.Arm, levels string) (lab.Arm, error) {
	for part := range strings.SplitSeq(levels, "/") {
		name, label, _ := strings.Cut(part, "=")
		var err error
		if a, err = a.At(name, label); err != nil {
			return lab.Arm{}, err
		}
	}
	return a, nil
}

// ErrLesson occurs when a case has no lesson, or no exercise of that name.
var ErrLesson = errors.New("no such lesson")

// Find is the case's lesson. The error wraps ErrLesson.
func Find(name string) (Lesson, error) {
	var names []string
	for _, l := range All {
		if l.Case == name {
			return l, nil
		}
		names = append(names, l.Case)
	}
	return Lesson{}, fmt.Errorf("%w: %q; choose one of: %s", ErrLesson, name, strings.Join(names, ", "))
}

// Answers gives the reader's next line, and false when there are no more: then the
// lesson goes on without predictions.
type Answers func() (string, bool)

// Play tells the lesson. Errors are those of w and of the runs.
func (l Lesson) Play(ctx context.Context, w io.Writer, list registry.List, answers Answers) error {
	p := player{w: w, list: list, answers: answers}
	p.printf("%s: %s\nabout %d minutes; type a number, or Enter to go on without a prediction\n", l.Case, l.Title, l.Minutes)
	for i, s := range l.Steps {
		if err := p.step(ctx, i+1, s); err != nil {
			return err
		}
	}
	if len(l.Exercises) > 0 {
		p.printf("\nNow yours. Each is solved by flipping toggles, and the first idea fails:\n")
		for _, x := range l.Exercises {
			p.printf("  latlab check %s/%s   about %d minutes\n", l.Case, x.Name, x.Minutes)
		}
	}
	return p.err
}

type player struct {
	w       io.Writer
	list    registry.List
	answers Answers
	err     error // of w, the first
}

func (p *player) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *player) say(text string) { p.printf("%s", report.Paragraphs(text)) }

func (p *player) step(ctx context.Context, n int, s Step) error {
	p.printf("\n%d. ", n)
	p.say(s.Text)
	p.printf("\n")
	p.say(s.Ask)
	guess, said := p.ask()
	o, err := s.Run.Do(ctx, p.list)
	if err != nil {
		return err
	}
	p.printf("\n")
	p.outcome(s.Run, o)
	if said {
		p.printf("you said    %s\n            %s\n", report.Percent(1+guess/100), verdictOn(guess, o.Ratio))
	}
	p.printf("\n")
	p.say(s.Then)
	return p.err
}

// ask is the reader's prediction; a line that is no number is asked for again.
func (p *player) ask() (percent float64, ok bool) {
	for {
		p.printf("your prediction, in percent (a third less is -33): ")
		line, more := p.answers()
		line = strings.TrimSpace(line)
		if !more || line == "" {
			p.printf("\n")
			return 0, false
		}
		v, err := strconv.ParseFloat(strings.TrimSuffix(line, "%"), 64)
		if err == nil && v >= -100 && v < 1e9 {
			return v, true
		}
		p.printf("that is no change in percent from -100 up; ")
	}
}

// outcome prints both arms' figures, and where their time went.
func (p *player) outcome(r Run, o Outcome) {
	p.printf("%s on rig %s: MODELLED, seed %d\n", o.Set.Experiment.Name, o.Set.Rig.Name(), Seed)
	p.printf("before      %s %s\n", report.Summary(o.Unit, o.Base.Figures[o.Unit.Name]), o.Unit.Name)
	p.printf("after       %s %s, with %s\n", report.Summary(o.Unit, o.Changed.Figures[o.Unit.Name]), o.Unit.Name, strings.ReplaceAll(r.Change, "/", " "))
	p.printf("change      %s\n", report.Change(o.Ratio))
	for _, side := range []struct {
		name string
		row  stats.Row
	}{{"time before", o.Base}, {"time after", o.Changed}} {
		if path := side.row.Path(); path.Ops > 0 {
			p.printf("%-12s%s\n", side.name, report.Shares(path))
		}
	}
}

// verdictOn says in words how far a prediction was off.
func verdictOn(percent float64, found lab.Interval) string {
	guess := 1 + percent/100
	switch {
	case guess >= found.Lo && guess <= found.Hi:
		return "that is within the interval"
	case (guess-1)*(found.Mid-1) < 0:
		return "the other way round"
	case guess > found.Mid && guess <= found.Mid*1.25 || guess < found.Mid && guess >= found.Mid/1.25:
		return "close: within a quarter of what is left"
	case guess > found.Mid:
		return fmt.Sprintf("what is left is %.3g times less than you thought", guess/found.Mid)
	}
	return fmt.Sprintf("what is left is %.3g times more than you thought", found.Mid/max(guess, 1e-9))
}
