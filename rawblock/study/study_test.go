package study_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock/study"
)

func TestExperiments(t *testing.T) {
	for _, e := range study.Experiments {
		t.Run(e.Name, func(t *testing.T) { labtest.Check(t, e) })
	}
}

// Without a usable folder the real rig is unavailable, and says what to do.
func TestFileRigNeedsAFolder(t *testing.T) {
	t.Setenv(lab.DirVariable, filepath.Join(t.TempDir(), "absent"))
	r, err := study.PutMany.Rig("file")
	if err != nil {
		t.Fatal(err)
	}
	var u *lab.Unavailable
	if err := r.Probe(t.Context()); !errors.As(err, &u) || u.Do == "" {
		t.Errorf("got %v, want lab.Unavailable with what to do", err)
	}
}

// The queue depth that a fake reports is what its model says it must be.
func TestDepthOfTheFakes(t *testing.T) {
	h, err := host.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		rig      string
		lo, hi   float64 // waits end late on a busy host, never early
		strategy string
	}{
		{"channels", 1, 117, "batch"}, {"one-wait", 1, 200, "batch"}, {"unbatched-headers", 0.01, 2, "batch"}, {"channels", 0.01, 1, "sequential"},
	} {
		r, err := study.PutMany.Rig(test.rig)
		if err != nil {
			t.Fatal(err)
		}
		arms, err := study.PutMany.Arms(r, lab.Selection{Set: map[string][]string{"strategy": {test.strategy}}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := study.PutMany.Open(t.Context(), r, arms[0], h)
		if errors.Is(err, lab.ErrRefused) {
			t.Logf("too noisy here: %v", err)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		res, err := s.Run(t.Context(), lab.Plan{N: 3})
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		depth, ok := res.Value(lab.Unit{Name: "queue-depth"})
		if !ok || depth < test.lo || depth > test.hi*1.001 {
			t.Errorf("%s, %s: depth %.2f, want %.2f to %.2f", test.rig, test.strategy, depth, test.lo, test.hi)
		}
	}
}

func TestMain(m *testing.M) {
	// Real files lie beside the tests' other files, not in the user's cache.
	if os.Getenv(lab.DirVariable) == "" {
		if dir, err := os.MkdirTemp(".", ".realfiles-"); err == nil {
			os.Setenv(lab.DirVariable, dir)
			code := m.Run()
			os.RemoveAll(dir)
			os.Exit(code)
		}
	}
	os.Exit(m.Run())
}
