package calibration

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"latlab.example/common/host"
)

// Err occurs when a calibration can't be read, or isn't of this host.
var Err = errors.New("no calibration for this")

// Head is what every calibration has.
type Head struct {
	Case   string           `json:"case"`
	Schema int              `json:"schema"` // version of the case's JSON form
	Host   host.Fingerprint `json:"host"`   // with the path that real files lie on
	// Residuals are there if what it predicts was measured, too.
	Residuals []Residual `json:"residuals,omitempty"`
}

// Fitted is a case's calibration.
type Fitted interface {
	// Check refuses what no calibration gives, since a file may be a stranger's. Its
	// error wraps Err.
	Check() error
	// WriteFit writes what was measured beside what was fitted to it. It returns
	// the error of the writer.
	WriteFit(io.Writer) error
	// Heading is the head.
	Heading() Head
}

// Heading is the head itself.
func (h Head) Heading() Head { return h }

// Expect refuses a head of another case or schema, and residuals that can't be. The
// error wraps Err.
func (h Head) Expect(name string, schema int) error {
	if h.Case != name || h.Schema != schema {
		return Refuse("it is of case %q, schema %d, and this program reads case %q, schema %d: calibrate anew", h.Case, h.Schema, name, schema)
	}
	if h.Host.GOMAXPROCS > 1<<16 {
		return Refuse("%d processors", h.Host.GOMAXPROCS)
	}
	for _, r := range h.Residuals {
		if r.Predicted < 0 || r.Low <= 0 || r.Measured < r.Low || r.High < r.Measured {
			return Refuse("%s is predicted at %v and was measured at %v, %v to %v", r.What, r.Predicted, r.Measured, r.Low, r.High)
		}
	}
	return nil
}

// Refuse is an error that wraps Err.
func Refuse(format string, a ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{Err}, a...)...)
}

// For says whether the calibration is of that host and disk. The error wraps Err and
// names both.
func (h Head) For(other host.Fingerprint) error {
	if h.Host.Place() == other.Place() {
		return nil
	}
	return Refuse("it is of %s, and this is %s", h.Host.Place(), other.Place())
}

// Write writes the calibration as JSON.
func Write(w io.Writer, c Fitted) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

const maxFile = 8 << 20 // bytes; what Write writes is some kilobytes

// Read reads a case's calibration as Write wrote it. The error wraps Err.
func Read[C Fitted](r io.Reader) (c C, err error) {
	if err := json.NewDecoder(io.LimitReader(r, maxFile)).Decode(&c); err != nil {
		return c, fmt.Errorf("%w: %w", Err, err)
	}
	return c, c.Check()
}

// ReadHead reads the head of any case's calibration. The error wraps Err.
func ReadHead(r io.Reader) (Head, error) {
	var h Head
	if err := json.NewDecoder(io.LimitReader(r, maxFile)).Decode(&h); err != nil {
		return h, fmt.Errorf("%w: %w", Err, err)
	}
	return h, h.Expect(h.Case, h.Schema)
}

// Bar is how far off a prediction may be, of what was measured.
const Bar = 0.25

// Residual is what a model predicts, beside what was measured.
type Residual struct {
	What      string        `json:"what"`
	Predicted time.Duration `json:"predicted_ns"`
	// Measured is the median of several visits, Low and High are their quartiles.
	Measured time.Duration `json:"measured_ns"`
	Low      time.Duration `json:"low_ns"`
	High     time.Duration `json:"high_ns"`
	// Others is how many cores other processes used in the median visit, a server on
	// this host among them.
	Others float64 `json:"others_cores"`
}

// Off is (predicted-measured)/measured.
func (r Residual) Off() float64 { return float64(r.Predicted)/float64(r.Measured) - 1 }

// Within is how many are off by Bar at most.
func Within(rows []Residual) (n int) {
	for _, r := range rows {
		if math.Abs(r.Off()) <= Bar {
			n++
		}
	}
	return n
}

// WriteResiduals writes a row a prediction, and how many are within Bar. It
// returns the error of w.
func WriteResiduals(w io.Writer, rows []Residual) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "prediction\tpredicted\tmeasured\tquartiles\tothers\tresidual")
	for _, r := range rows {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s to %s\t%.1f\t%+.0f%%\n", r.What, Millis(r.Predicted), Millis(r.Measured), Millis(r.Low), Millis(r.High), r.Others, 100*r.Off())
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d predictions are within %.0f %% of the median measured; others is the cores that other processes used, servers among them\n", Within(rows), len(rows), 100*Bar)
	return err
}

// Millis is a time in ms, with two digits behind the point.
func Millis(d time.Duration) string { return fmt.Sprintf("%.2fms", float64(d)/1e6) }

// Prediction is what a model says, and how to measure the same.
type Prediction struct {
	What      string
	Predicted time.Duration
	Measure   func(ctx context.Context, visit int) (time.Duration, error)
}

// Compare measures the predictions so many times, in turns, so that a disturbance
// of the host hits all.
func Compare(ctx context.Context, visits int, all []Prediction) ([]Residual, error) {
	type visit struct {
		took   time.Duration
		others float64
	}
	seen := make([][]visit, len(all))
	for v := range visits {
		for i, p := range all {
			noise := host.StartNoise()
			took, err := p.Measure(ctx, v)
			if err != nil {
				return nil, fmt.Errorf("calibrate: measure %s: %w", p.What, err)
			}
			seen[i] = append(seen[i], visit{took, noise.Stop().ForeignCPU})
		}
	}
	rows := make([]Residual, len(all))
	for i, p := range all {
		slices.SortFunc(seen[i], func(a, b visit) int { return cmp.Compare(a.took, b.took) })
		mid := seen[i][visits/2]
		rows[i] = Residual{
			What: p.What, Predicted: p.Predicted, Others: mid.others,
			Measured: mid.took, Low: seen[i][visits/4].took, High: seen[i][visits*3/4].took,
		}
	}
	return rows, nil
}
