package lesson

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/experiments/registry"
)

// Exercise is a slow setting to be mended by flipping toggles.
type Exercise struct {
	Name            string
	Minutes         int
	Text            string
	Experiment, Rig string
	Given           string   // the slow arm's levels, as a=b/c=d
	Toggles         []string // the factors that may be flipped
	Most            int      // how many of them
	Unit            lab.Unit // that must become better; lab.SecPerOp if it has no name
	Gain            float64  // share that it must be better by, at least
	Obvious         string   // the first idea, as a=b; it fails
	Why             string   // it fails
}

// ErrSettings occurs when an attempt flips what it mustn't.
var ErrSettings = errors.New("settings that the exercise doesn't allow")

// ErrUnsolved occurs when an attempt falls short.
var ErrUnsolved = errors.New("not solved")

// FindExercise finds CASE/NAME. The error wraps ErrLesson.
func FindExercise(name string) (Lesson, Exercise, error) {
	c, short, _ := strings.Cut(name, "/")
	l, err := Find(c)
	if err != nil {
		return Lesson{}, Exercise{}, err
	}
	var names []string
	for _, x := range l.Exercises {
		if x.Name == short {
			return l, x, nil
		}
		names = append(names, c+"/"+x.Name)
	}
	return Lesson{}, Exercise{}, fmt.Errorf("%w: exercise %q; choose one of: %s", ErrLesson, name, strings.Join(names, ", "))
}

//go:embed answers
var answers embed.FS

// Answer is the text of the exercise's answer.
func (x Exercise) Answer(l Lesson) (string, error) {
	b, err := answers.ReadFile("answers/" + l.Case + "-" + x.Name + ".md")
	return string(b), err
}

func (x Exercise) unit() lab.Unit { return Run{Unit: x.Unit}.unit() }

// Check runs an attempt, settings as a=b each, against what is given. solved is
// whether the whole interval reaches the goal. The error wraps ErrSettings,
// lab.ErrFactor or lab.ErrLevel, or is that of the run.
func (x Exercise) Check(ctx context.Context, list registry.List, settings []string) (o Outcome, solved bool, err error) {
	e, err := list.Find(x.Experiment)
	if err != nil {
		return Outcome{}, false, err
	}
	rig, err := e.Rig(x.Rig)
	if err != nil {
		return Outcome{}, false, err
	}
	base, err := arm(e, rig, x.Given)
	if err != nil {
		return Outcome{}, false, err
	}
	for i, s := range settings {
		name, _, ok := strings.Cut(s, "=")
		switch {
		case !ok:
			return Outcome{}, false, fmt.Errorf("%w: %q; want factor=level", ErrSettings, s)
		case !slices.Contains(x.Toggles, name):
			return Outcome{}, false, fmt.Errorf("%w: %s; it allows: %s", ErrSettings, name, strings.Join(x.Toggles, ", "))
		case slices.ContainsFunc(settings[:i], func(t string) bool { return strings.HasPrefix(t, name+"=") }):
			return Outcome{}, false, fmt.Errorf("%w: %s is named twice", ErrSettings, name)
		}
	}
	if len(settings) == 0 || len(settings) > x.Most {
		return Outcome{}, false, fmt.Errorf("%w: %d toggles; flip at least 1 and at most %d", ErrSettings, len(settings), x.Most)
	}
	changed, err := with(base, strings.Join(settings, "/"))
	if err != nil {
		return Outcome{}, false, err
	}
	if changed.String() == base.String() {
		return Outcome{}, false, fmt.Errorf("%w: that is how it is", ErrSettings)
	}
	if o, err = do(ctx, e, rig, base, changed, x.unit()); err != nil {
		return Outcome{}, false, err
	}
	if x.unit().Better == lab.Up {
		return o, o.Ratio.Lo >= 1+x.Gain, nil
	}
	return o, o.Ratio.Hi <= 1-x.Gain, nil
}

// Goal says in words what must be reached.
func (x Exercise) Goal() string {
	word := "less"
	if x.unit().Better == lab.Up {
		word = "more"
	}
	return fmt.Sprintf("at least %.0f %% %s %s", 100*x.Gain, word, x.unit().Name)
}
