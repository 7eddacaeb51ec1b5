package study_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"testing"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/rawblock/study"
)

// goldenModels is what the figures of all arms of all models digest to, on every
// machine. It changes only when a model does, and then committed results do.
const goldenModels = "f0057b510dd1aefbbbd1206032c15973"

func TestModelsGiveTheSameEverywhere(t *testing.T) {
	digest := fnv.New128a()
	arms := 0
	for _, e := range study.Experiments {
		for _, r := range e.Rigs {
			if _, ok := r.Params(); !ok {
				continue
			}
			var cross []string
			if len(e.Cross) == 0 {
				cross = []string{e.Factors[0].Name(), "keys"}
			}
			all, err := e.Arms(r, lab.Selection{Cross: cross})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range all {
				arms++
				s, err := e.Open(t.Context(), r, a, host.Fingerprint{})
				if err != nil {
					t.Fatal(err)
				}
				s.KeepTimelines(func(tl metrics.Timeline) {
					b := tl.Critical()
					fmt.Fprintln(digest, tl.From, tl.To, b.Stages, b.Unattributed)
				})
				res, err := s.Run(t.Context(), lab.Plan{Seed: 1, N: 2})
				if err != nil {
					t.Fatal(err)
				}
				values := res.Values()
				for _, name := range slices.Sorted(maps.Keys(values)) {
					fmt.Fprintln(digest, e.Name, a, name, values[name])
				}
			}
		}
	}
	if got := fmt.Sprintf("%x", digest.Sum(nil)); got != goldenModels {
		t.Errorf("%d arms digest to %s, want %s", arms, got, goldenModels)
	}
}
