package claims

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/experiments/audit"
	"latlab.example/experiments/registry"
	"latlab.example/experiments/report"
	"latlab.example/experiments/stats"
)

// Entry is a claim with all that is known of it.
type Entry struct {
	Claim    Claim
	Audit    []audit.Finding
	Modelled Side
	Measured Side
}

// Verdict is what both sides say, in words.
func (e Entry) Verdict() string {
	if e.Claim.Experiment == "" {
		return "not asked by a run"
	}
	return fmt.Sprintf("modelled: %s; measured: %s", e.Modelled.word(), e.Measured.word())
}

// Side is the answer of one provenance.
type Side struct {
	// Verdict of all answers together: theirs if they agree, inconclusive if they
	// don't. Empty if there is none.
	Verdict lab.Verdict
	Reason  string // why it is inconclusive, or why there is no answer
	Answers []Answer
	Missing []string // rigs that would answer, and what to do about it

	requests []request
}

// request is rigs that one command would run.
type request struct {
	flags string
	rigs  []string
}

func (s *Side) ask(rig, flags string) {
	i := slices.IndexFunc(s.requests, func(t request) bool { return t.flags == flags })
	if i < 0 {
		i = len(s.requests)
		s.requests = append(s.requests, request{flags: flags})
	}
	s.requests[i].rigs = append(s.requests[i].rigs, rig)
}

func (s Side) word() string {
	if s.Verdict != "" {
		return string(s.Verdict)
	}
	return s.Reason
}

// Answer is what one rig's newest result says.
type Answer struct {
	Rig     string
	Verdict lab.Verdict
	Reason  string
	Effect  string // with its interval
	File    string
	Host    string
}

const (
	noRun    = "no run yet"
	notBuilt = "not built yet"
)

// Ledger answers the claims of a case, or all if the name is empty, by the
// registered experiments and the results. The error wraps [ErrCase].
func (s *Study) Ledger(ctx context.Context, experiments registry.List, r Results, name string) ([]Entry, error) {
	if err := s.CheckCase(name); err != nil {
		return nil, err
	}
	var entries []Entry
	for _, c := range s.Claims {
		if name != "" && c.Case != name {
			continue
		}
		e := Entry{Claim: c, Audit: s.Audit(c)}
		e.Modelled, e.Measured = answer(ctx, c, experiments, r)
		entries = append(entries, e)
	}
	return entries, nil
}

func answer(ctx context.Context, c Claim, experiments registry.List, r Results) (modelled, measured Side) {
	none := func(reason string) (Side, Side) { return Side{Reason: reason}, Side{Reason: reason} }
	if c.Experiment == "" {
		return none(c.Why)
	}
	e, err := experiments.Find(c.Experiment)
	if err != nil {
		return none(notBuilt)
	}
	sides := map[lab.Provenance]*Side{lab.Modelled: &modelled, lab.Measured: &measured}
	for _, rig := range e.Rigs {
		if len(c.Rigs) > 0 && !slices.Contains(c.Rigs, rig.Name()) {
			continue
		}
		ask, err := newQuestion(c, e, rig)
		if errors.Is(err, lab.ErrFactor) || errors.Is(err, lab.ErrLevel) {
			continue // this rig can't be asked
		} else if err != nil {
			return none(err.Error())
		}
		// A rig that is real may have simulating levels: a file says what it holds.
		own := &modelled
		if rig.Kind() == lab.KindReal {
			own = &measured
		}
		if a, p, ok := ask.answer(r); ok {
			side := sides[p]
			side.Answers = append(side.Answers, a)
			continue
		}
		if err := rig.Probe(ctx); err != nil {
			own.Missing = append(own.Missing, fmt.Sprintf("%s: %s: %v", lab.NotMeasurable, rig.Name(), err))
			continue
		}
		own.ask(rig.Name(), ask.flags())
	}
	for _, s := range []*Side{&modelled, &measured} {
		for _, a := range s.requests {
			s.Missing = append(s.Missing, fmt.Sprintf("%s: latlab run %s --rig %s%s", noRun, e.Name, strings.Join(a.rigs, ","), a.flags))
		}
	}
	modelled.conclude("no rig models it")
	measured.conclude("no rig measures it")
	return modelled, measured
}

// conclude joins the answers.
func (s *Side) conclude(none string) {
	seen := make(map[lab.Verdict][]string)
	for _, a := range s.Answers {
		seen[a.Verdict] = append(seen[a.Verdict], a.Rig)
	}
	switch {
	case len(seen) == 1:
		s.Verdict, s.Reason = s.Answers[0].Verdict, s.Answers[0].Reason
	case len(seen) > 1:
		var parts []string
		for _, v := range []lab.Verdict{lab.Holds, lab.Fails, lab.Inconclusive} {
			if len(seen[v]) > 0 {
				parts = append(parts, fmt.Sprintf("%s on %s", v, strings.Join(seen[v], ", ")))
			}
		}
		s.Verdict, s.Reason = lab.Inconclusive, "it rests on the rig: "+strings.Join(parts, "; ")
	case len(s.Missing) == 0:
		s.Reason = none
	case slices.ContainsFunc(s.Missing, func(m string) bool { return strings.HasPrefix(m, noRun) }):
		s.Reason = noRun
	default:
		s.Verdict = lab.NotMeasurable
	}
}

// question is a claim put to a rig.
type question struct {
	Claim
	experiment lab.Experiment
	rig        lab.Rig
	levels     []string     // of the rule's factor; one without a name if it has none
	arms       [][]lab.Arm  // a level
	against    []*lab.Arm   // a level
	factors    []lab.Factor // on the rig
}

func newQuestion(c Claim, e lab.Experiment, rig lab.Rig) (question, error) {
	q := question{Claim: c, experiment: e, rig: rig, levels: []string{""}, factors: e.FactorsOn(rig)}
	all, err := e.Arms(rig, lab.Selection{})
	if err != nil {
		return q, err
	}
	if c.Rule.levels() {
		i := slices.IndexFunc(q.factors, func(f lab.Factor) bool { return f.Name() == c.Rule.along })
		if i < 0 {
			return q, fmt.Errorf("%w %q", lab.ErrFactor, c.Rule.along)
		}
		q.levels = c.Rule.ends
		if q.levels == nil {
			for j := range q.factors[i].Len() {
				q.levels = append(q.levels, q.factors[i].Label(j))
			}
		}
	}
	at := func(level string, s Selector) (lab.Arm, error) {
		arm := all[0]
		if level != "" {
			s = append(slices.Clone(s), Level{c.Rule.along, level})
		}
		for _, l := range s {
			if arm, err = arm.At(l.Factor, l.Label); err != nil {
				return arm, err
			}
		}
		return arm, nil
	}
	for _, level := range q.levels {
		var arms []lab.Arm
		for _, s := range c.Arms {
			arm, err := at(level, s)
			if err != nil {
				return q, err
			}
			arms = append(arms, arm)
		}
		q.arms = append(q.arms, arms)
		var by *lab.Arm
		if len(c.Against) > 0 {
			arm, err := at(level, c.Against)
			if err != nil {
				return q, err
			}
			by = &arm
		}
		q.against = append(q.against, by)
	}
	return q, nil
}

// flags make a run of what the claim asks for.
func (q question) flags() string {
	var words []string
	sets := make(map[string][]string)
	var order []string
	add := func(s Selector) {
		for _, l := range s {
			if !slices.Contains(order, l.Factor) {
				order = append(order, l.Factor)
			}
			if !slices.Contains(sets[l.Factor], l.Label) {
				sets[l.Factor] = append(sets[l.Factor], l.Label)
			}
		}
	}
	add(q.Against)
	for _, s := range q.Arms {
		add(s)
	}
	var cross []string
	for _, name := range order {
		words = append(words, "--set", name+"="+strings.Join(sets[name], ","))
		if len(sets[name]) > 1 {
			cross = append(cross, name)
		}
	}
	// Arms differ in one factor unless they are crossed.
	if q.Rule.levels() {
		cross = append(cross, q.Rule.along)
	}
	if len(cross) > 0 {
		words = append(words, "--cross", strings.Join(cross, ","))
	}
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ")
}

// answer looks for the newest file that has every arm.
func (q question) answer(r Results) (Answer, lab.Provenance, bool) {
	for _, f := range r.of(q.experiment.Name, q.rig.Name()) {
		var ratios, figures []lab.Interval
		var texts []string
		var floors []float64
		complete := true
		for i, level := range q.levels {
			var by column
			if q.against[i] != nil {
				var ok bool
				by, ok = columnOf(f, q.experiment, *q.against[i], q.Unit)
				complete = complete && ok
			}
			for _, arm := range q.arms[i] {
				of, ok := columnOf(f, q.experiment, arm, q.Unit)
				if complete = complete && ok; !complete {
					break
				}
				prefix := ""
				if level != "" {
					prefix = level + ": "
				}
				if q.against[i] != nil {
					x := of.ratio(by)
					ratios = append(ratios, x)
					texts = append(texts, prefix+effect(x))
					floors = append(floors, floor(f.Path, q.Unit))
					continue
				}
				x := of.figure()
				figures = append(figures, lab.Interval{Lo: x.Lo / of.factor, Mid: x.Mid / of.factor, Hi: x.Hi / of.factor})
				texts = append(texts, prefix+figure(q.Unit, of, x))
			}
		}
		if !complete {
			continue
		}
		a := Answer{Rig: q.rig.Name(), Effect: strings.Join(texts, "; "), File: f.Path, Host: f.Config.Host}
		switch {
		case q.Rule.levels():
			a.Verdict, a.Reason = q.Rule.judgeAlong(ratios, floors)
		case q.Rule.kind == "order":
			a.Verdict, a.Reason = judgeOrder(figures)
		case len(ratios) > 0:
			a.Verdict, a.Reason = q.Rule.judge(ratios[0], floors[0])
		default:
			a.Verdict, a.Reason = q.Rule.judge(figures[0], 0)
		}
		return a, f.Config.Provenance, true
	}
	return Answer{}, 0, false
}

// effect writes a ratio as a change: -5.2 % [-11.1, +0.5].
func effect(r lab.Interval) string {
	percent := func(v float64) string { return fmt.Sprintf("%+.1f", 100*(v-1)) }
	switch {
	case math.IsNaN(r.Mid):
		return "no ratio"
	case math.IsInf(r.Lo, 0) || math.IsInf(r.Hi, 0):
		return percent(r.Mid) + " % [unknown]"
	case percent(r.Lo) == percent(r.Hi):
		return percent(r.Mid) + " %"
	}
	return fmt.Sprintf("%s %% [%s, %s]", percent(r.Mid), percent(r.Lo), percent(r.Hi))
}

// figure writes a figure in the claim's unit.
func figure(unit string, c column, s stats.Summary) string {
	if c.factor != 1 || c.unit.Name == lab.SecPerOp.Name {
		return report.Summary(lab.SecPerOp, s)
	}
	return report.Summary(lab.Unit{Name: unit}, s) + " " + unit
}

// Unknown are the experiments that claims name and that are neither registered
// nor pending, and Early those that are pending and registered.
func (s *Study) Unknown(experiments registry.List) (unknown, early []string) {
	names := make(map[string]bool)
	for _, c := range s.Claims {
		if c.Experiment != "" {
			names[c.Experiment] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, err := experiments.Find(name)
		pending := slices.Contains(s.Pending, name)
		switch {
		case err != nil && !pending:
			unknown = append(unknown, name)
		case err == nil && pending:
			early = append(early, name)
		}
	}
	return unknown, early
}

// Unasked are the claims whose arms no rig of their experiment has: a factor or a
// level by another name.
func (s *Study) Unasked(experiments registry.List) []error {
	var all []error
	for _, c := range s.Claims {
		e, err := experiments.Find(c.Experiment)
		if c.Experiment == "" || c.Pending || err != nil {
			continue
		}
		var errs []error
		asked := false
		for _, rig := range e.Rigs {
			if len(c.Rigs) > 0 && !slices.Contains(c.Rigs, rig.Name()) {
				continue
			}
			_, err := newQuestion(c, e, rig)
			errs = append(errs, err)
			asked = asked || err == nil
		}
		if !asked {
			all = append(all, fmt.Errorf("claim %s: no rig of %s can be asked: %w", c.ID, c.Experiment, errors.Join(errs...)))
		}
		if !slices.ContainsFunc(e.AllUnits(), func(u lab.Unit) bool { return u.Name == c.Unit }) && !stageUnit(e, c.Unit) {
			all = append(all, fmt.Errorf("claim %s: %s has no unit %s", c.ID, c.Experiment, c.Unit))
		}
	}
	return all
}

// stageUnit says whether a unit is the critical-path time of one of the stages.
func stageUnit(e lab.Experiment, unit string) bool {
	name, ok := strings.CutSuffix(unit, "-ns/op")
	if !ok || e.Stages == nil {
		return false
	}
	_, ok = e.Stages.Lookup(name)
	return ok || name == "unattributed"
}
