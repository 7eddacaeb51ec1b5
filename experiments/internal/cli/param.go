package cli

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"latlab.example/common/lab"
)

// longestName is how long the name of a changed model may be: it stands in file
// names.
const longestName = 120

// withParams is a model with other values, each as parameter=value. Its name says
// what was changed: results of two settings must not pass for one of the other.
func withParams(r lab.Rig, values []string) (lab.Rig, error) {
	t, ok := r.Params()
	if !ok {
		return r, usagef("rig %s has no parameters; only models do", r.Name())
	}
	was := t.Params()
	var seen []string
	for _, v := range values {
		name, text, ok := strings.Cut(v, "=")
		switch {
		case !ok || name == "" || text == "":
			return r, usagef("--param %q: want parameter=value", v)
		case slices.Contains(seen, name):
			return r, usagef("--param %q: %s is named twice", v, name)
		}
		seen = append(seen, name)
		var err error
		if t, err = t.SetText(name, text); err != nil {
			return r, usagef("--param: %w", err)
		}
	}
	var changed []string
	for i, p := range t.Params() {
		if p.Value != was[i].Value {
			changed = append(changed, p.Name+"="+p.Text())
		}
	}
	if changed == nil {
		return r, nil
	}
	name := r.Name() + "+" + strings.Join(changed, "+")
	if len(name) > longestName {
		name = fmt.Sprintf("%s+%x", r.Name(), sha256.Sum256([]byte(name)))[:len(r.Name())+17]
	}
	return r.Vary(name, t), nil
}

// rigOf finds a rig by the name that results carry, changed parameters included.
func rigOf(x lab.Experiment, name string) (lab.Rig, error) {
	model, changed, ok := strings.Cut(name, "+")
	if !ok {
		return x.Rig(name)
	}
	r, err := x.Rig(model)
	if err != nil {
		return r, err
	}
	if !strings.Contains(changed, "=") {
		return r, fmt.Errorf("%s has too many changed parameters for its name; run it again with --param, by the values that its assumptions have", name)
	}
	return withParams(r, strings.Split(changed, "+"))
}

// setParams puts the values of --param in the only model among the jobs, and leaves
// out what isn't one.
func (f runFlags) setParams(x lab.Experiment, jobs []job) ([]job, error) {
	models := slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { _, ok := j.rig.Params(); return !ok })
	if len(models) != 1 {
		return nil, usagef("%s: --param needs one rig with parameters, and %d of those asked for have some; name it with --rig (latlab list %s shows which)", x.Name, len(models), x.Name)
	}
	var err error
	models[0].rig, err = withParams(models[0].rig, f.params)
	return models, err
}
