//go:build !js

package study

import (
	"context"
	"slices"
	"time"

	"latlab.example/aerospike"
	"latlab.example/aerospike/records"
	"latlab.example/common/lab"
)

// perSet reads set by set, one of which is empty.
type perSet struct{ *subject }

func openFakeSets(ctx context.Context, a lab.Arm) (lab.Subject, error) {
	s, err := openFake(ctx, a)
	return setwise(s, err)
}

func openRealSets(ctx context.Context, a lab.Arm) (lab.Subject, error) {
	s, err := openReal(ctx, a)
	return setwise(s, err)
}

func setwise(s lab.Subject, err error) (lab.Subject, error) {
	if err != nil {
		return nil, err
	}
	return perSet{s.(*subject)}, nil
}

func calibrateSets(ctx context.Context, a lab.Arm) (string, error) {
	return calibrateWith(ctx, a, batch.Of(a), openFakeSets)
}

// Trial reads the sets in turns, the empty one last. An operation is the read of
// one set of the arm's kind: reads of the other kind aren't in any of its figures
// but one, the average over all sets.
func (s perSet) Trial(ctx context.Context, t *lab.Trial) (err error) {
	p, _, err := pipeline(s.client, s.arm, s.namespace, s.rec)
	if err != nil {
		return err
	}
	all := ask(s.arm, s.prefix, t.Seed)
	all[len(all)-1].Set = records.Empty(s.prefix)
	s.rec.Reset()
	s.lines = nil
	empty := kind.Of(s.arm) == "empty"
	var took []time.Duration
	var whole time.Duration
	var keys, hit, reads int
	began := time.Now()
	for len(took) < max(t.N, 1) || t.N == 0 && time.Since(began) < t.Min {
		for i := range all {
			one := all[i : i+1]
			timed := (i == len(all)-1) == empty
			scope := s.rec.Scope(timed)
			start := time.Now()
			r, err := p.Read(ctx, one)
			d := time.Since(start)
			scope.Close()
			if err != nil {
				return err
			}
			whole += d
			reads++
			if !timed || t.N > 0 && len(took) == t.N {
				continue
			}
			took = append(took, d)
			for j := range r.Sets[0].Len() {
				keys++
				if r.Sets[0].State(j) == aerospike.Found {
					hit++
				}
			}
		}
	}
	t.Ops = len(took)
	for _, d := range took {
		t.Took += d
	}
	slices.Sort(took)
	t.Observe(p95, float64(took[(len(took)*95+99)/100-1]))
	t.Observe(naive, float64(whole)/float64(reads))
	t.Observe(found, 100*float64(hit)/float64(keys))
	s.stages(t)
	return nil
}
