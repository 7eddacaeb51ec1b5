package explore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/experiments/runner"
)

// Blocks is how many trials each setting has: the fewest that give an interval.
const Blocks = 6

// tooFar is how many times the end of its range a parameter may have: beyond, a
// model would keep a page waiting for nothing.
const tooFar = 100

// MaxRequest is the longest request in bytes: far above what a page asks for.
const MaxRequest = 64 << 10

// Request is a setting of a model. The zero value of what isn't named is the
// baseline.
type Request struct {
	Experiment string            `json:"experiment"`
	Rig        string            `json:"rig"`    // the experiment's first model if empty
	Levels     map[string]string `json:"levels"` // by factor
	Params     map[string]string `json:"params"` // values in their units, by parameter
	Seed       uint64            `json:"seed"`   // of all chance; 1 if it is 0
}

// Read reads a request of at most MaxRequest bytes. The error wraps ErrRequest or
// is that of r.
func Read(r io.Reader) (Request, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxRequest+1))
	if err != nil {
		return Request{}, err
	}
	if len(data) > MaxRequest {
		return Request{}, fmt.Errorf("%w: it is longer than %d bytes", ErrRequest, MaxRequest)
	}
	var q Request
	if err := json.Unmarshal(data, &q); err != nil {
		return Request{}, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return q, nil
}

// setting is a request with all that it means.
type setting struct {
	experiment lab.Experiment
	rig        lab.Rig
	arms       []lab.Arm // the reference, then the arm asked for unless it is the reference
	changed    []string  // parameter=value
	seed       uint64
}

func (c *Catalog) setting(q Request) (s setting, err error) {
	e, r, t, err := c.find(q.Experiment, q.Rig)
	if err != nil {
		return s, err
	}
	s = setting{experiment: e, seed: cmp.Or(q.Seed, 1)}
	if s.rig, s.changed, err = varied(r, t, q.Params); err != nil {
		return s, err
	}
	factors := e.FactorsOn(r)
	set := make(map[string][]string)
	for _, f := range factors {
		set[f.Name()] = []string{f.Label(0)}
	}
	for name, level := range q.Levels {
		set[name] = []string{level} // of a factor that there isn't: Arms says so
	}
	if first := factors[0]; set[first.Name()][0] != first.Label(0) {
		set[first.Name()] = []string{first.Label(0), set[first.Name()][0]}
	}
	s.arms, err = e.Arms(s.rig, lab.Selection{Set: set})
	return s, err
}

// varied is the rig with these values of its parameters, and what was changed in
// the model's order.
func varied(r lab.Rig, t param.Table, values map[string]string) (lab.Rig, []string, error) {
	was := t.Params()
	var err error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if t, err = t.SetText(name, values[name]); err != nil {
			return r, nil, err
		}
		p, err := t.Get(name)
		if err != nil {
			return r, nil, err
		}
		i := slices.IndexFunc(was, func(p param.Param) bool { return p.Name == name })
		if most := tooFar * max(was[i].Hi, 1); p.Value > most && was[i].Hi < math.MaxInt64/tooFar {
			return r, nil, fmt.Errorf("%w: %s=%s: the model is meant for %s to %s; choose at most %s", ErrRequest, name, p.Text(), p.TextOf(was[i].Lo), p.TextOf(was[i].Hi), p.TextOf(most))
		}
	}
	var changed []string
	for i, p := range t.Params() {
		if p.Value != was[i].Value {
			changed = append(changed, p.Name+"="+p.Text())
		}
	}
	if changed == nil {
		return r, nil, nil
	}
	return r.Vary(r.Name(), t), changed, nil
}

// command is the line that gives the same figures. It names every level, since a
// factor that isn't named would be varied.
func (s setting) command() string {
	words := []string{"latlab", "run", s.experiment.Name, "--rig", s.rig.Name()}
	for name, level := range s.arms[0].All() {
		if other, _ := s.arms[len(s.arms)-1].Level(name); other != level {
			level += "," + other
		}
		words = append(words, "--set", name+"="+level)
	}
	for _, p := range s.changed {
		words = append(words, "--param", p)
	}
	words = append(words, "--blocks", strconv.Itoa(Blocks), "--seed", strconv.FormatUint(s.seed, 10))
	for i, w := range words {
		words[i] = quoted(w)
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell reads it.
func quoted(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=+,./:", r)
	}
	if strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Asked says that an error is the request's own: what it asks for isn't there, or its
// values are such that the model can't run.
func Asked(err error) bool {
	for _, e := range []error{ErrRequest, ErrExperiment, lab.ErrRig, lab.ErrFactor, lab.ErrLevel, param.ErrParam, param.ErrValue, runner.ErrModel} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
