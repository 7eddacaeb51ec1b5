package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"latlab.example/common/child"
	"latlab.example/common/host"
	"latlab.example/common/metrics"
)

// Experiment is a question about a case, with what can be chosen, what is
// looked at and the rule that decides.
type Experiment struct {
	Name     string // case/question: rawblock/putmany
	Question string
	// Note is one line that a reader of the figures needs, as what one operation
	// is; it is printed under the question. Empty if nothing needs saying.
	Note string
	// Factors are what every rig has. The first is the one that the question
	// and the rule are about.
	Factors []Factor
	// Cross names the factors that are crossed unless the selection says otherwise.
	Cross    []string
	Outcomes []Unit // beside SecPerOp, which every trial has
	Rule     Rule
	// Stages are the parts of an operation's time, or nil if the experiment has none.
	Stages *metrics.StageSet
	Rigs   []Rig
}

// ErrRig occurs when an experiment has no rig of that name.
var ErrRig = errors.New("no such rig")

// Rig finds a rig by name.
func (e Experiment) Rig(name string) (Rig, error) {
	var names []string
	for _, r := range e.Rigs {
		if r.name == name {
			return r, nil
		}
		names = append(names, r.name)
	}
	return Rig{}, fmt.Errorf("%s: %w: %q; it has: %s", e.Name, ErrRig, name, strings.Join(names, ", "))
}

// factors are the experiment's and the rig's own.
func (e Experiment) factors(r Rig) []Factor { return slices.Concat(e.Factors, r.own) }

// FactorsOn lists the factors that an arm on the rig has: the experiment's,
// then the rig's own.
func (e Experiment) FactorsOn(r Rig) []Factor { return e.factors(r) }

// AllUnits are SecPerOp, the outcomes and what the rule reads, without repetition.
func (e Experiment) AllUnits() []Unit {
	all := []Unit{SecPerOp}
	for _, u := range slices.Concat(e.Outcomes, e.Rule.Units()) {
		if u.Name != "" && !slices.ContainsFunc(all, func(v Unit) bool { return v.Name == u.Name }) {
			all = append(all, u)
		}
	}
	return all
}

// BenchmarkName is the experiment's name in a result file:
// rawblock/putmany becomes BenchmarkRawblockPutmany.
func (e Experiment) BenchmarkName() string {
	var s strings.Builder
	s.WriteString("Benchmark")
	for _, part := range strings.FieldsFunc(e.Name, func(r rune) bool { return r == '/' || r == '-' }) {
		s.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return s.String()
}

// ParseArm is the arm of the experiment on a rig whose String is the text. Factors
// that the text doesn't name are at their baseline. The error wraps ErrFactor or
// ErrLevel.
func (e Experiment) ParseArm(r Rig, text string) (Arm, error) {
	if text == "" && len(e.factors(r)) == 0 {
		return Arm{}, nil
	}
	set := make(map[string][]string)
	for part := range strings.SplitSeq(text, "/") {
		name, label, ok := strings.Cut(part, "=")
		if !ok {
			return Arm{}, fmt.Errorf("%s: arm %q: %w: %q isn't factor=level", e.Name, text, ErrLevel, part)
		}
		set[name] = []string{label}
	}
	arms, err := e.Arms(r, Selection{Set: set})
	if err != nil {
		return Arm{}, fmt.Errorf("arm %q: %w", text, err)
	}
	return arms[0], nil
}

// Open probes and calibrates the rig for the arm and opens it. h is the host
// that the session runs on: a wall-clock rig demands one. The error wraps
// ErrUnavailable or ErrRefused where the rig is to blame. The caller closes the
// session.
func (e Experiment) Open(ctx context.Context, r Rig, a Arm, h host.Fingerprint) (*Session, error) {
	stamp := Stamp{
		Experiment: e.Name, Rig: r.name, Kind: r.kind, Provenance: Modelled,
		Assumptions: slices.Concat(r.Assumptions(), a.simulations()),
	}
	if r.kind == KindReal && len(a.simulations()) == 0 {
		stamp.Provenance = Measured
	}
	where := fmt.Sprintf("%s on rig %s, %s", e.Name, r.name, a)
	if r.kind.wall() {
		stamp.Host = h.ID()
		if r.kind == KindReal {
			stamp.Host = h.Place() // another disk isn't comparable
		}
		if h.IsZero() {
			return nil, fmt.Errorf("%s: a wall-clock result needs a host fingerprint; pass host.Read's", where)
		}
	}
	if err := r.Probe(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	open, calibrate := r.open, r.calibrate
	if r.limits != nil {
		c := &inChild{e: e, rig: r, arm: a}
		open = func(context.Context, Arm) (Subject, error) { return c, nil }
		if calibrate != nil {
			calibrate = c.calibrate
		}
	}
	if calibrate != nil {
		text, err := calibrate(ctx, a)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, child.ErrNoMain) {
				err = fmt.Errorf("%w: %w", ErrRefused, err)
			}
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		stamp.Calibration = text
	}
	subject, err := open(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return &Session{e: e, arm: a, stamp: stamp, subject: subject}, nil
}
