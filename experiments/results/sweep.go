package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"latlab.example/common/lab"
)

// ErrSweep occurs when a file isn't what `latlab run --sweep` or `--tornado` with
// --json printed.
var ErrSweep = errors.New("not the JSON of a sweep or a tornado")

// Sweep is what became of an answer along a parameter of a model.
type Sweep struct {
	Experiment string       `json:"experiment"`
	Rig        string       `json:"rig"`
	Provenance string       `json:"provenance"`
	Baseline   string       `json:"baseline"`
	Parameter  string       `json:"parameter"`
	Has        string       `json:"has"`    // the value that the model itself has
	Source     string       `json:"source"` // of that value
	Unit       string       `json:"unit"`
	Points     []SweepPoint `json:"points"`
	Flips      []SweepFlip  `json:"flips"`
}

// SweepPoint is the answer at one value.
type SweepPoint struct {
	Value int64      `json:"value"`
	Text  string     `json:"text"` // the value in its unit
	Arms  []SweepArm `json:"arms"`
}

// SweepArm is a judged arm's effect there.
type SweepArm struct {
	Arm     string      `json:"arm"`
	Ratio   Interval    `json:"ratio"`
	Verdict lab.Verdict `json:"verdict"`
}

// SweepFlip is a place where an arm's verdict changes.
type SweepFlip struct {
	Arm   string      `json:"arm"`
	Below int64       `json:"below"`
	Above int64       `json:"above"`
	From  lab.Verdict `json:"from"`
	To    lab.Verdict `json:"to"`
	Text  string      `json:"text"` // in words
}

// Tornado says how far each parameter of a model moves an arm's effect.
type Tornado struct {
	Experiment string  `json:"experiment"`
	Rig        string  `json:"rig"`
	Provenance string  `json:"provenance"`
	Baseline   string  `json:"baseline"`
	Arm        string  `json:"arm"`
	Unit       string  `json:"unit"`
	Base       float64 `json:"ratio"`
	Bars       []Bar   `json:"bars"`
}

// Bar is one parameter, moved to both ends of its range.
type Bar struct {
	Parameter string  `json:"parameter"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	AtFrom    float64 `json:"ratio_at_from"`
	AtTo      float64 `json:"ratio_at_to"`
	Source    string  `json:"source"`
}

// ReadSweep reads a sweep, or the tornados of one model, whichever it is. The
// error wraps [ErrSweep] or is that of r. What comes back is modelled, has points
// or bars, and texts and lists of bounded length.
func ReadSweep(r io.Reader) (*Sweep, []Tornado, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxMeta+1))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > MaxMeta {
		return nil, nil, fmt.Errorf("%w: it is longer than %d MiB", ErrSweep, MaxMeta>>20)
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		var all []Tornado
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrSweep, err)
		}
		if len(all) == 0 || len(all) > maxList {
			return nil, nil, fmt.Errorf("%w: it has %d arms", ErrSweep, len(all))
		}
		for _, t := range all {
			if err := t.check(); err != nil {
				return nil, nil, fmt.Errorf("%w: %w", ErrSweep, err)
			}
		}
		return nil, all, nil
	}
	s := new(Sweep)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrSweep, err)
	}
	if err := s.check(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrSweep, err)
	}
	return s, nil, nil
}

func (s Sweep) check() error {
	texts := []string{s.Experiment, s.Rig, s.Baseline, s.Parameter, s.Has, s.Source, s.Unit}
	switch {
	case s.Experiment == "" || s.Rig == "" || s.Parameter == "" || s.Baseline == "":
		return errors.New("it names no experiment, rig, baseline or parameter")
	case s.Provenance != lab.Modelled.String():
		return fmt.Errorf("its provenance is %.40q", s.Provenance)
	case len(s.Points) == 0 || len(s.Points) > maxList || len(s.Flips) > maxList:
		return fmt.Errorf("it has %d points and %d flips", len(s.Points), len(s.Flips))
	}
	for _, p := range s.Points {
		if len(p.Arms) > maxList {
			return fmt.Errorf("it has %d arms at %.40q", len(p.Arms), p.Text)
		}
		texts = append(texts, p.Text)
		for _, a := range p.Arms {
			if !isVerdict(a.Verdict) {
				return fmt.Errorf("a verdict is %.40q", a.Verdict)
			}
			texts = append(texts, a.Arm)
		}
	}
	for _, f := range s.Flips {
		if !isVerdict(f.From) || !isVerdict(f.To) {
			return fmt.Errorf("a flip is from %.40q to %.40q", f.From, f.To)
		}
		texts = append(texts, f.Arm, f.Text)
	}
	return bounded(texts)
}

func (t Tornado) check() error {
	texts := []string{t.Experiment, t.Rig, t.Baseline, t.Arm, t.Unit}
	switch {
	case t.Experiment == "" || t.Rig == "" || t.Arm == "" || t.Baseline == "":
		return errors.New("it names no experiment, rig, baseline or arm")
	case t.Provenance != lab.Modelled.String():
		return fmt.Errorf("its provenance is %.40q", t.Provenance)
	case len(t.Bars) == 0 || len(t.Bars) > maxList:
		return fmt.Errorf("it has %d parameters", len(t.Bars))
	}
	for _, b := range t.Bars {
		if math.Min(b.AtFrom, b.AtTo) < 0 {
			return fmt.Errorf("parameter %.40q has an effect below 0", b.Parameter)
		}
		texts = append(texts, b.Parameter, b.From, b.To, b.Source)
	}
	return bounded(texts)
}

func isVerdict(v lab.Verdict) bool {
	return slices.Contains([]lab.Verdict{"", lab.Holds, lab.Fails, lab.Inconclusive}, v)
}

// bounded refuses a text that nobody would read to its end.
func bounded(texts []string) error {
	for _, t := range texts {
		if len(t) > maxText {
			return fmt.Errorf("it has a text of %d bytes: %.40q", len(t), t)
		}
	}
	return nil
}
