package labtest

import (
	"errors"
	"fmt"
	"testing"

	"latlab.example/common/host"
	"latlab.example/common/lab"
)

// Bench runs the experiment's rigs of one provenance as benchmarks: the
// modelled ones, or the real ones. Names are rig=.../factor=.../...; figures are
// those of the lab: ns/op is the operation's time alone, then the outcomes and
// the critical-path time of each stage.
//
// Configuration lines are printed before a rig's benchmarks, never inside one,
// so that no result line is split.
func Bench(b *testing.B, e lab.Experiment, p lab.Provenance, sel lab.Selection) {
	h, err := host.Read(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, u := range e.AllUnits() {
		fmt.Print(u.Metadata())
	}
	for _, r := range e.Rigs {
		if (r.Kind() == lab.KindReal) == (p == lab.Measured) {
			b.Run("rig="+r.Name(), func(b *testing.B) { benchRig(b, e, r, sel, h, p) })
		}
	}
}

func benchRig(b *testing.B, e lab.Experiment, r lab.Rig, sel lab.Selection, h host.Fingerprint, p lab.Provenance) {
	arms, err := e.Arms(r, sel)
	if errors.Is(err, lab.ErrFactor) || errors.Is(err, lab.ErrLevel) {
		b.Skip(err) // another rig has it
	} else if err != nil {
		b.Fatal(err)
	}
	config := ""
	for _, a := range arms {
		s, err := e.Open(b.Context(), r, a, h)
		if errors.Is(err, lab.ErrRefused) || errors.Is(err, lab.ErrUnavailable) {
			b.Run(a.String(), func(b *testing.B) { b.Skip(err) })
			continue
		} else if err != nil {
			b.Fatal(err)
		}
		if s.Stamp().Provenance == p { // a level that simulates makes a real rig's arm modelled
			if c := s.Stamp().Config(); c != config {
				config = c
				fmt.Print(c)
			}
			b.Run(a.String(), func(b *testing.B) { benchArm(b, e, s) })
		}
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
	// Later benchmarks of the process are none of this rig's: an empty value drops a key.
	fmt.Print("provenance:\nrig:\nhost:\nexperiment:\n")
}

func benchArm(b *testing.B, e lab.Experiment, s *lab.Session) {
	res, err := s.Run(b.Context(), lab.Plan{Seed: uint64(b.N), N: b.N})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(res.Took().Nanoseconds())/float64(res.Ops()), "ns/op")
	for _, u := range e.AllUnits() {
		if v, ok := res.Value(u); ok && u.Name != lab.SecPerOp.Name {
			b.ReportMetric(v, u.Name)
		}
	}
	res.Path().Report(b)
}
