package study

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"latlab.example/coldfetch/store"
	"latlab.example/common/fidelity"
	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

func TestMain(m *testing.M) {
	nodes = 40 // nothing that is checked depends on how long a build takes
	if os.Getenv(lab.DirVariable) == "" {
		// Files lie beside the tests' other files, not in the user's cache.
		if dir, err := os.MkdirTemp(".", ".realfiles-"); err == nil {
			if dir, err = filepath.Abs(dir); err != nil {
				panic(err)
			}
			os.Setenv(lab.DirVariable, dir)
			lab.Main(Experiments...)
			code := m.Run()
			os.RemoveAll(dir)
			os.Exit(code)
		}
	}
	lab.Main(Experiments...)
	os.Exit(m.Run())
}

func TestExperiments(t *testing.T) {
	for _, e := range Experiments {
		t.Run(e.Name, func(t *testing.T) { labtest.Check(t, e) })
	}
}

// Every arm has a table with the facts that matter here, and what production
// doesn't say is unknown.
func TestFidelity(t *testing.T) {
	for _, e := range Experiments {
		for _, r := range e.Rigs {
			arms, err := e.Arms(r, lab.Selection{})
			if err != nil {
				t.Fatal(err)
			}
			table, err := Fidelity(t.Context(), e, r, arms[0])
			if err != nil {
				t.Fatal(err)
			}
			rows := map[string]fidelity.Row{}
			for _, row := range table {
				rows[row.Name] = row
			}
			names := []string{"cores", "cpu share", "neighbours", "store", "store rtt", "file system", "fsync", "GOMAXPROCS", "proxy", "compression"}
			for _, name := range names {
				row, ok := rows[name]
				if !ok {
					t.Errorf("%s on %s: no row %q", e.Name, r.Name(), name)
				}
				if row.Production == "" && row.Status != fidelity.Unknown {
					t.Errorf("%s on %s: %+v", e.Name, r.Name(), row)
				}
				if row.Here == "" && e.Name != ColdPull.Name {
					t.Errorf("%s on %s: %s isn't known of the run", e.Name, r.Name(), name)
				}
			}
			if rows["store"].Status != fidelity.Differs {
				t.Errorf("%s on %s: the store is %s", e.Name, r.Name(), rows["store"].Status)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "own")
	if err := os.WriteFile(file, []byte("fsync = file+folder\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(FactsVariable, file)
	table, err := Fidelity(t.Context(), ColdPull, ColdPull.Rigs[1], lab.Arm{})
	if err != nil || table[0].Status != fidelity.Equal {
		t.Errorf("%v: %v", err, table)
	}
	t.Setenv(FactsVariable, file+"x")
	if _, err := Production(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Without a store the real rigs are unavailable and say what to do.
func TestRealRigNeedsAStore(t *testing.T) {
	t.Setenv(store.EndpointVariable, "127.0.0.1:1") // and no keys
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	r, err := ColdPull.Rig("s3")
	if err != nil {
		t.Fatal(err)
	}
	var u *lab.Unavailable
	if err := r.Probe(t.Context()); !errors.As(err, &u) || u.Need != "s3" || u.Do == "" {
		t.Errorf("%v, want lab.Unavailable with what to do", err)
	}
}

// What the study published comes out of the bubble in shape: the loop makes
// health wait for builds although its own work is nothing; off the loop, or with
// builds one at a time, it doesn't wait.
func TestWhoWaitsForBuilds(t *testing.T) {
	r, err := LoopBlocking.Rig("bubble")
	if err != nil {
		t.Fatal(err)
	}
	for mode, most := range map[string]time.Duration{"loop": 0, "offload-gil": 300 * time.Millisecond, "bounded": 300 * time.Millisecond} {
		arms, err := LoopBlocking.Arms(r, lab.Selection{Set: map[string][]string{"mode": {mode}, "concurrency": {"10"}, "cores": {"1"}}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := LoopBlocking.Open(t.Context(), r, arms[0], host.Fingerprint{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Run(t.Context(), lab.Plan{Seed: 1, N: 30})
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		waited, _ := res.Value(healthP95)
		own, _ := res.Value(healthOwn)
		if got := time.Duration(waited); mode == "loop" && (got < time.Second || own > 1e6) || mode != "loop" && got > most {
			t.Errorf("%s: health waited %v, by its own clock %v", mode, got, time.Duration(own))
		}
	}
}
