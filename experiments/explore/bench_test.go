package explore_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"latlab.example/experiments/explore"
	"latlab.example/experiments/registry"
)

// settings are, for each model, the baseline and each other level of one factor.
func settings(c *explore.Catalog) (all []explore.Request) {
	for _, e := range c.Experiments {
		for _, m := range e.Models {
			all = append(all, explore.Request{Experiment: e.Name, Rig: m.Rig})
			for _, f := range m.Factors {
				for _, l := range f.Levels[1:] {
					all = append(all, explore.Request{Experiment: e.Name, Rig: m.Rig, Levels: map[string]string{f.Name: l.Label}})
				}
			}
		}
	}
	return all
}

// BenchmarkRun asks for every setting that is one flip away from a baseline, and
// reports how long it took until the first picture and until the verdict.
// LATLAB_EXPLORE_SLOW=1 prints each that took longer than 300 ms.
func BenchmarkRun(b *testing.B) {
	c := explore.Models(registry.All())
	all := settings(c)
	var first, last []time.Duration
	for b.Loop() {
		for _, q := range all {
			start := time.Now()
			seen := time.Duration(0)
			err := c.Run(b.Context(), q, func(explore.Answer) bool {
				if seen == 0 {
					seen = time.Since(start)
				}
				return true
			})
			if err != nil {
				b.Fatal(err)
			}
			took := time.Since(start)
			if os.Getenv("LATLAB_EXPLORE_SLOW") != "" && seen > 300*time.Millisecond {
				fmt.Println(q.Experiment, q.Levels, seen, took)
			}
			first, last = append(first, seen), append(last, took)
		}
	}
	for name, times := range map[string][]time.Duration{"first": first, "verdict": last} {
		slices.Sort(times)
		for _, p := range []int{50, 95, 100} {
			b.ReportMetric(times[(len(times)-1)*p/100].Seconds()*1e3, fmt.Sprintf("%s-p%d-ms", name, p))
		}
	}
	b.ReportMetric(float64(len(all)), "settings")
}
