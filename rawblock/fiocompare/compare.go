package main

import (
	"fmt"
	"math"
	"strings"

	"golang.org/x/perf/benchmath"
)

// point is what is written: bytes a write, writes under way.
type point struct{ block, depth int }

// row is a point's result: medians of the rates in writes a second, and the
// median of the rounds' ratios, ours over fio's, with its 95 % interval.
type row struct {
	point
	ours, fio     float64
	ratio, lo, hi float64
}

// table is what was found, and the geometric mean of the ratios.
type table struct {
	rows []row
	mean float64
}

// The bars, for ours over fio's.
const (
	meanBar  = 0.95 // the geometric mean is at least so much
	pointBar = 0.90 // no point's interval lies wholly below
)

// compare measures each point with both programs once a round, the one that goes
// first by turns, so that a drift of the disk hits both.
func compare(ctx interface{ Err() error }, rounds int, points []point, ours, fio func(point) (float64, error), progress func(int)) (table, error) {
	programs := [2]func(point) (float64, error){ours, fio}
	rates := make([][2][]float64, len(points))
	for round := range rounds {
		progress(round + 1)
		for i, p := range points {
			for turn := range 2 {
				if err := ctx.Err(); err != nil {
					return table{}, err
				}
				who := (turn + round + i) % 2
				rate, err := programs[who](p)
				if err != nil {
					return table{}, err
				}
				if !(rate > 0) || math.IsInf(rate, 0) {
					return table{}, fmt.Errorf("%s: %v writes a second with %s; make the rounds longer", p, rate, [2]string{"ours", "fio"}[who])
				}
				rates[i][who] = append(rates[i][who], rate)
			}
		}
	}
	var t table
	logs := 0.0
	for i, p := range points {
		ratios := make([]float64, rounds)
		for r := range ratios {
			ratios[r] = rates[i][0][r] / rates[i][1][r]
		}
		ratio := summary(ratios)
		t.rows = append(t.rows, row{
			point: p, ours: summary(rates[i][0]).Center, fio: summary(rates[i][1]).Center,
			ratio: ratio.Center, lo: ratio.Lo, hi: ratio.Hi,
		})
		logs += math.Log(ratio.Center)
	}
	t.mean = math.Exp(logs / float64(len(points)))
	return t, nil
}

// summary is the median with its interval; with 5 rounds that is their range, of
// 94 %.
func summary(values []float64) benchmath.Summary {
	thresholds := benchmath.DefaultThresholds
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(append([]float64(nil), values...), &thresholds), 0.9375)
}

func (p point) String() string { return fmt.Sprintf("%d KiB, depth %d", p.block>>10, p.depth) }

// String is the table for a reader.
func (t table) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%6s %6s %12s %12s %8s   %s\n", "block", "depth", "ours, 1/s", "fio, 1/s", "ratio", "interval")
	for _, r := range t.rows {
		fmt.Fprintf(&s, "%5dK %6d %12.0f %12.0f %8.3f   %.3f to %.3f\n", r.block>>10, r.depth, r.ours, r.fio, r.ratio, r.lo, r.hi)
	}
	fmt.Fprintf(&s, "\ngeometric mean of the ratios %.3f; the bar is %.2f, and no interval wholly below %.2f\n", t.mean, meanBar, pointBar)
	return s.String()
}

// verdict is an errBar for each bar that was missed.
func (t table) verdict() error {
	if t.mean < meanBar {
		return fmt.Errorf("%w: geometric mean %.3f, below %.2f; run it again on a quiet host, or profile", errBar, t.mean, meanBar)
	}
	for _, r := range t.rows {
		if r.hi < pointBar {
			return fmt.Errorf("%w: %s: ratio %.3f to %.3f, below %.2f; run it again on a quiet host, or profile", errBar, r.point, r.lo, r.hi, pointBar)
		}
	}
	return nil
}
