package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"latlab.example/common/lab"
)

// choice is which rigs and arms of an experiment to run, as asked for by flags.
type choice struct {
	rigs []string
	// available leaves out those of rigs that can't run here, as if none were named.
	available bool
	kind      string
	sets      []string
	cross     []string
	judged    bool // only arms that differ in the first factor
}

// job is the arms to run on a rig.
type job struct {
	rig  lab.Rig
	arms []lab.Arm
}

// parseSets reads factor=level[,level] of each --set. Naming a factor twice
// adds levels. Naming a level twice is an error, since it would be run once.
func parseSets(sets []string) (map[string][]string, error) {
	out := make(map[string][]string)
	for _, s := range sets {
		name, levels, ok := strings.Cut(s, "=")
		if !ok || name == "" || levels == "" {
			return nil, usagef("--set %q: want factor=level[,level]", s)
		}
		for level := range strings.SplitSeq(levels, ",") {
			if slices.Contains(out[name], level) {
				return nil, usagef("--set %q: level %q of %s is named twice", s, level, name)
			}
			out[name] = append(out[name], level)
		}
	}
	return out, nil
}

// jobs finds what to run. A rig that was asked for by name is run whatever its
// probe says, so that its rows are shown as refused. Of the others those that
// can't run are left out, and the notes say why.
func (c choice) jobs(ctx context.Context, e lab.Experiment) (jobs []job, notes []string, err error) {
	set, err := parseSets(c.sets)
	if err != nil {
		return nil, nil, err
	}
	rigs, err := c.candidates(e)
	if err != nil {
		return nil, nil, err
	}
	missing := 0 // rigs without a factor that was asked for
	for _, r := range rigs {
		arms, err := e.Arms(r, lab.Selection{Set: set, Cross: c.cross})
		switch {
		case errors.Is(err, lab.ErrFactor) && len(c.rigs) == 0:
			missing++
			notes = append(notes, fmt.Sprintf("rig %s is left out: it has no factor %s", r.Name(), c.lacks(e, r)))
			continue
		case err != nil:
			return nil, nil, err
		}
		if c.judged {
			arms = slices.DeleteFunc(arms, func(a lab.Arm) bool {
				return slices.ContainsFunc(arms[0].Differs(a), func(name string) bool { return name != e.Factors[0].Name() })
			})
		}
		if c.tolerant() {
			if err := r.Probe(ctx); err != nil {
				notes = append(notes, fmt.Sprintf("rig %s is left out: %v", r.Name(), err))
				continue
			}
		}
		jobs = append(jobs, job{r, arms})
	}
	if len(jobs) > 0 {
		return jobs, notes, nil
	}
	if missing == len(rigs) {
		return nil, nil, c.noFactor(e, rigs)
	}
	return nil, nil, fmt.Errorf("%s: no rig can run here: %s", e.Name, strings.Join(notes, "; "))
}

// factors are the names that were asked for, in the order of the flags.
func (c choice) factors() []string {
	var names []string
	for _, s := range c.sets {
		name, _, _ := strings.Cut(s, "=")
		names = append(names, name)
	}
	return append(names, c.cross...)
}

func has(e lab.Experiment, r lab.Rig, factor string) bool {
	return slices.ContainsFunc(e.FactorsOn(r), func(f lab.Factor) bool { return f.Name() == factor })
}

// lacks is the first factor asked for that the rig doesn't have.
func (c choice) lacks(e lab.Experiment, r lab.Rig) string {
	for _, name := range c.factors() {
		if !has(e, r, name) {
			return name
		}
	}
	return ""
}

// noFactor says which factors there are, where no rig has all that were asked for.
func (c choice) noFactor(e lab.Experiment, rigs []lab.Rig) error {
	all := names(e.Factors)
	var own []string            // lists of factors that only some rigs have
	by := map[string][]string{} // rigs by such a list
	for _, r := range rigs {
		if list := names(e.FactorsOn(r)[len(e.Factors):]); list != "" {
			if by[list] == nil {
				own = append(own, list)
			}
			by[list] = append(by[list], r.Name())
		}
	}
	there := "every rig has: " + all
	for _, list := range own {
		there += "; " + strings.Join(by[list], ", ") + " also: " + list
	}
	for _, name := range c.factors() {
		if !slices.ContainsFunc(rigs, func(r lab.Rig) bool { return has(e, r, name) }) {
			return fmt.Errorf("%s: %w: %q; %s", e.Name, lab.ErrFactor, name, there)
		}
	}
	return fmt.Errorf("%s: %w on any rig that has the others; %s", e.Name, lab.ErrFactor, there)
}

func names(factors []lab.Factor) string {
	var all []string
	for _, f := range factors {
		all = append(all, f.Name())
	}
	return strings.Join(all, ", ")
}

// tolerant says that rigs which can't run here are no failure.
func (c choice) tolerant() bool { return c.available || len(c.rigs) == 0 }

// candidates are the rigs that the flags name.
func (c choice) candidates(e lab.Experiment) ([]lab.Rig, error) {
	rigs := e.Rigs
	if len(c.rigs) > 0 {
		rigs = nil
		for _, name := range c.rigs {
			r, err := e.Rig(name)
			if err != nil {
				return nil, err
			}
			rigs = append(rigs, r)
		}
	}
	if c.kind == "" {
		return rigs, nil
	}
	kind, err := lab.ParseKind(c.kind)
	if err != nil {
		return nil, usagef("--kind: %w", err)
	}
	rigs = slices.DeleteFunc(slices.Clone(rigs), func(r lab.Rig) bool { return r.Kind() != kind })
	if len(rigs) == 0 {
		return nil, usagef("%s: no rig of kind %s among those asked for; see latlab list", e.Name, kind)
	}
	return rigs, nil
}
