package calibrate

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/common/host"
)

// Residual is what the model predicts, beside what it took.
type Residual struct {
	What      string        `json:"what"`         // a pull, or users of a mode
	Predicted time.Duration `json:"predicted_ns"` // mean response, or a pull's time
	Measured  time.Duration `json:"measured_ns"`  // likewise: the lower of two visits
	Higher    time.Duration `json:"higher_ns"`    // of the two
	// Others is how many cores other processes used in that visit, a store on this
	// host among them. The model has the host to itself.
	Others float64 `json:"others_cores"`
}

// Off is (predicted-measured)/measured.
func (r Residual) Off() float64 { return float64(r.Predicted)/float64(r.Measured) - 1 }

// Bar is how far off a prediction may be.
const Bar = 0.25

const (
	visits = 2 // of each row, in turn, so that a disturbance of the host hits all
	window = 5 * time.Second
	kept   = 2 // built documents in the cache
)

// crowd are users of a mode.
type crowd struct {
	mode  coldfetch.Mode
	users int
}

func crowds() (all []crowd) {
	for _, m := range []coldfetch.Mode{coldfetch.Loop, coldfetch.Goroutines, coldfetch.Bounded} {
		for _, n := range []int{1, 4, 10} {
			all = append(all, crowd{m, n})
		}
	}
	return all
}

// Compare measures users of three modes, with a cache that keeps two of six
// documents, and pulls of the sizes in Between, and predicts each. It takes two
// minutes.
func Compare(ctx context.Context, c Calibration, t Target) ([]Residual, error) {
	var rows []Residual
	for _, x := range crowds() {
		p, err := c.Predict(ctx, x.mode, x.users, kept)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Residual{What: fmt.Sprintf("%s, users=%d", x.mode, x.users), Predicted: p})
	}
	took := func(r *Residual, d time.Duration, n host.Noise) {
		r.Higher = max(r.Higher, d)
		if r.Measured == 0 || d < r.Measured {
			r.Measured, r.Others = d, n.ForeignCPU
		}
	}
	for visit := range visits {
		for i, x := range crowds() {
			noise := host.StartNoise()
			got, err := serve(ctx, t, stack{mode: x.mode, cache: kept, nodes: c.Answers.Nodes}, x.users, window, uint64(visit), nil)
			if err != nil {
				return nil, fmt.Errorf("calibrate: %s: %w", rows[i].What, err)
			}
			took(&rows[i], got.mean, noise.Stop())
		}
	}
	first := len(rows)
	for _, n := range Between {
		rows = append(rows, Residual{What: fmt.Sprintf("pull, bytes=%d", n), Predicted: c.Way.Time(n)})
	}
	for range visits {
		noise := host.StartNoise()
		got, err := MeasurePulls(ctx, t, Between)
		if err != nil {
			return nil, err
		}
		n := noise.Stop()
		for i, p := range got {
			took(&rows[first+i], p.Took, n)
		}
	}
	return rows, nil
}

// WriteFit writes what was measured alone: a row a pull, and a line of the answers.
// It returns the error of w.
func WriteFit(w io.Writer, c Calibration) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "bytes\tmeasured\tfitted\tresidual\t")
	for _, p := range c.Pulls {
		fitted := c.Way.Time(p.Bytes)
		fmt.Fprintf(tab, "%d\t%s\t%s\t%+.0f%%\t\n", p.Bytes, ms(p.Took), ms(fitted), 100*(float64(fitted)/float64(p.Took)-1))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	a := c.Answers
	_, err := fmt.Fprintf(w, "a build takes %s (p95 %.2f times that), text %s, a look at the file %s, the rest of a request %s\n", ms(a.Build), a.Spread, ms(a.JSON), ms(a.Locate), ms(a.Rest))
	return err
}

// WriteResiduals writes a row a prediction, and how many are within Bar. It
// returns the error of w.
func WriteResiduals(w io.Writer, rows []Residual) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "what\tpredicted\tmeasured\thigher\tothers\tresidual\t")
	within := 0
	for _, r := range rows {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%.1f\t%+.0f%%\t\n", r.What, ms(r.Predicted), ms(r.Measured), ms(r.Higher), r.Others, 100*r.Off())
		if math.Abs(r.Off()) <= Bar {
			within++
		}
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d predictions are within %.0f %%; others is the cores that other processes used, which the model doesn't know of\n", within, len(rows), 100*Bar)
	return err
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2fms", float64(d)/1e6) }
