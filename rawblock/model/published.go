// Package model answers questions about rawblock by calculation, in virtual time.
package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
	"latlab.example/rawblock/fake"
)

// Published is a row of the study's simulation: objects of 64 B, a fake device
// with the latency that it names. Times are of one PutMany of Keys keys.
type Published struct {
	Keys    int
	Latency time.Duration
	FanOut  time.Duration // a task a key on a thread pool
	Posix   time.Duration // batch/posix: one background call, key by key
	Batch   time.Duration // batch+io_uring: one submission
}

// PublishedRows is the study's table (rows raw.sim.*). N=1000 at 0 us was not
// published.
var PublishedRows = []Published{
	{100, 0, us(6960), us(920), us(920)},
	{100, us(50), us(22670), us(27040), us(16240)},
	{100, us(200), us(43200), us(57950), us(31160)},
	{1000, us(50), us(321600), us(265800), us(164100)},
	{1000, us(200), us(232500), us(579600), us(309600)},
}

// WhyNotFanOut says why the fan-out column takes no part in the fit.
const WhyNotFanOut = "fan-out is left out: at 1000 keys it got faster with four times the latency (321.6 to 232.5 ms), " +
	"which no steady system does, and its number of threads was not published"

func us(n int) time.Duration { return time.Duration(n) * time.Microsecond }

// Fit is what the batch/posix rows say about the study's machine.
type Fit struct {
	PerKey   time.Duration // CPU a key
	PerWait  time.Duration // added to each wait that isn't zero: timer overshoot
	Residual float64       // of the batch/posix rows: root mean square of (fitted-published)/published
}

// FitPosix fits the two costs to the batch/posix rows, where every key makes two
// waits, header and payload, one after the other:
//
//	time = keys x (PerKey + 2 x (latency + PerWait))
//
// The wait costs nothing at latency 0, so that row gives PerKey. PerWait is the
// least-squares solution over relative residuals of the other rows.
func FitPosix() Fit {
	var f Fit
	for _, r := range PublishedRows {
		if r.Latency == 0 {
			f.PerKey = r.Posix / time.Duration(r.Keys)
		}
	}
	// For each row, residual = a + b x PerWait with a, b relative to the row.
	var ab, bb float64
	for _, r := range PublishedRows {
		if r.Latency == 0 {
			continue
		}
		rest := time.Duration(r.Keys) * (f.PerKey + 2*r.Latency)
		a := float64(rest-r.Posix) / float64(r.Posix)
		b := 2 * float64(r.Keys) / float64(r.Posix)
		ab += a * b
		bb += b * b
	}
	f.PerWait = time.Duration(-ab / bb).Round(100 * time.Nanosecond)
	var sum float64
	for _, r := range PublishedRows {
		sum += square(f.posix(r), r.Posix)
	}
	f.Residual = math.Sqrt(sum / float64(len(PublishedRows)))
	return f
}

func (f Fit) posix(r Published) time.Duration {
	return time.Duration(r.Keys) * (f.PerKey + 2*f.wait(r.Latency))
}

// wait is what a wait for a latency took on the study's machine.
func (f Fit) wait(latency time.Duration) time.Duration {
	if latency == 0 {
		return 0
	}
	return latency + f.PerWait
}

func square(got, want time.Duration) float64 {
	rel := float64(got-want) / float64(want)
	return rel * rel
}

// Candidate is a device that may lie behind the batch+io_uring rows.
type Candidate struct {
	Name string
	// Medium makes the device with that time a wait.
	Medium func(wait time.Duration) fake.Medium
}

// Candidates are the devices that the fit compares.
func Candidates() []Candidate {
	list := []Candidate{
		{"one-wait", func(d time.Duration) fake.Medium { return fake.OneWait{Latency: constant(d)} }},
		{"unbatched-headers", func(d time.Duration) fake.Medium { return fake.UnbatchedHeaders{Latency: constant(d)} }},
	}
	for _, k := range []int{1, 2, 4, 32} {
		list = append(list, Candidate{fmt.Sprintf("%d-channel", k), func(d time.Duration) fake.Medium {
			m, err := fake.NewChannels(k, constant(d), 0)
			if err != nil {
				panic(err) // k is at least 1
			}
			return m
		}})
	}
	return list
}

func constant(d time.Duration) *emu.Sampler { return emu.NewSampler(emu.Constant(d), 0) }

// Batch predicts a row's batch+io_uring time: CPU for each key, and the fake's
// own medium serving one submission of a header and a payload a key.
func (f Fit) Batch(c Candidate, r Published) time.Duration {
	ws := make([]rawblock.IO, 0, 2*r.Keys)
	for i := range r.Keys {
		off := int64(i) * 8192
		ws = append(ws, rawblock.IO{Off: off, HeaderOnly: true}, rawblock.IO{Off: off + 4096})
	}
	var start time.Time
	done, _ := c.Medium(f.wait(r.Latency)).Serve(start, ws)
	return time.Duration(r.Keys)*f.PerKey + done.Sub(start)
}

// BatchResidual is the root mean square of (predicted-published)/published over
// the batch+io_uring rows: 0.1 is 10 %.
func (f Fit) BatchResidual(c Candidate) float64 {
	var sum float64
	for _, r := range PublishedRows {
		sum += square(f.Batch(c, r), r.Batch)
	}
	return math.Sqrt(sum / float64(len(PublishedRows)))
}

// alike is how much larger than the least residual another may be before the
// rows speak against its candidate: a fifth, or a few percent in these data.
const alike = 1.2

// Best are the candidates that the rows can't tell from the best, best first.
func (f Fit) Best() []Candidate {
	all := Candidates()
	slices.SortStableFunc(all, func(a, b Candidate) int { return cmp.Compare(f.BatchResidual(a), f.BatchResidual(b)) })
	n := 1
	for n < len(all) && f.BatchResidual(all[n]) <= alike*f.BatchResidual(all[0]) {
		n++
	}
	return all[:n]
}

// Table is the fit in words and figures: what was fitted, each candidate's
// prediction of each row with its residual, and which candidates fit.
func (f Fit) Table() string {
	var s strings.Builder
	fmt.Fprintf(&s, "fitted on batch/posix: %.1f us of CPU a key, %.1f us added to a wait; residual %.1f %%\n", micros(f.PerKey), micros(f.PerWait), 100*f.Residual)
	fmt.Fprintf(&s, "%s\n\nbatch+io_uring, ms", WhyNotFanOut)
	for _, r := range PublishedRows {
		fmt.Fprintf(&s, " %15s", fmt.Sprintf("%d x %.0fus", r.Keys, micros(r.Latency)))
	}
	fmt.Fprintf(&s, " %9s\n%-18s", "residual", "published")
	for _, r := range PublishedRows {
		fmt.Fprintf(&s, " %15.2f", millis(r.Batch))
	}
	s.WriteString("\n")
	for _, c := range Candidates() {
		fmt.Fprintf(&s, "%-18s", c.Name)
		for _, r := range PublishedRows {
			got := f.Batch(c, r)
			fmt.Fprintf(&s, " %15s", fmt.Sprintf("%.2f (%+.0f%%)", millis(got), 100*(float64(got)/float64(r.Batch)-1)))
		}
		fmt.Fprintf(&s, " %8.1f%%\n", 100*f.BatchResidual(c))
	}
	var names []string
	for _, c := range f.Best() {
		names = append(names, c.Name)
	}
	fmt.Fprintf(&s, "\nbest: %s", names[0])
	if len(names) > 1 {
		fmt.Fprintf(&s, "; the rows can't tell it from %s", strings.Join(names[1:], ", "))
	}
	s.WriteString("\nus a key that it leaves unexplained:")
	for _, r := range PublishedRows {
		fmt.Fprintf(&s, " %.1f", micros(r.Batch-f.Batch(f.Best()[0], r))/float64(r.Keys))
	}
	s.WriteString("\n")
	return s.String()
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
