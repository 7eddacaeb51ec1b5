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
	rigs  []string
	kind  string
	sets  []string
	cross []string
}

// job is the arms to run on a rig.
type job struct {
	rig  lab.Rig
	arms []lab.Arm
}

// parseSets reads factor=level[,level] of each --set. Naming a factor twice
// adds levels.
func parseSets(sets []string) (map[string][]string, error) {
	out := make(map[string][]string)
	for _, s := range sets {
		name, levels, ok := strings.Cut(s, "=")
		if !ok || name == "" || levels == "" {
			return nil, usagef("--set %q: want factor=level[,level]", s)
		}
		out[name] = append(out[name], strings.Split(levels, ",")...)
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
	var noFactor error
	for _, r := range rigs {
		arms, err := e.Arms(r, lab.Selection{Set: set, Cross: c.cross})
		switch {
		case errors.Is(err, lab.ErrFactor) && len(c.rigs) == 0:
			noFactor = err
			notes = append(notes, fmt.Sprintf("rig %s is left out: %v", r.Name(), err))
			continue
		case err != nil:
			return nil, nil, err
		}
		if len(c.rigs) == 0 {
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
	if len(notes) > 0 && noFactor == nil {
		return nil, nil, fmt.Errorf("%s: no rig can run here: %s", e.Name, strings.Join(notes, "; "))
	}
	return nil, nil, noFactor
}

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
