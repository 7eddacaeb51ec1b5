package study

import (
	"errors"
	"fmt"
	"os"
	"testing"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/logger"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/internal/aerotest"
	"latlab.example/aerospike/records"
	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

func TestMain(m *testing.M) {
	logger.Logger.SetLevel(logger.OFF)
	lab.Main(Experiments...) // trials of cores are children
	os.Exit(m.Run())
}

func TestExperiments(t *testing.T) {
	for _, e := range Experiments {
		t.Run(e.Name, func(t *testing.T) { labtest.Check(t, e) })
	}
}

// Without an address the real rig is unavailable and says what to do; a fake
// can't pass for a real server.
func TestRealRigRefuses(t *testing.T) {
	rig, err := Mystery.Rig("cluster")
	if err != nil {
		t.Fatal(err)
	}
	c := aerotest.Start(t, fake.Config{})
	for _, addr := range []string{"", "127.0.0.1:1", "nonsense", c.Addrs()[0]} {
		t.Setenv(records.AddrVariable, addr)
		var u *lab.Unavailable
		if err := rig.Probe(t.Context()); !errors.As(err, &u) || u.Need != "aerospike" || u.Do == "" {
			t.Errorf("address %q: %v, want lab.Unavailable with what to do", addr, err)
		}
	}
}

// The real rig's arms share their records, which the last one deletes. It runs
// here against a fake, below the probe that refuses it.
func TestRealRigCleansUp(t *testing.T) {
	c := aerotest.Start(t, fake.Config{Nodes: 2})
	p := records.Place{Addr: c.Addrs()[0], Namespace: "test", Prefix: "p_"}
	if _, err := openAt(p, lab.Arm{}); err == nil {
		t.Error("opened although the server doesn't tell what it holds")
	}
	p.Reuse = true
	client := aerotest.Connect(t, p.Addr)
	there := func() (n int) {
		err := records.Each(p.Namespace, p.Prefix, func(k *as.Key, _ []any) error {
			ok, aerr := client.Exists(nil, k)
			if aerr != nil {
				return aerr
			}
			if ok {
				n++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first, err := openAt(p, lab.Arm{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := openAt(p, lab.Arm{})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if n := there(); n != records.Sets*records.Keys {
		t.Errorf("%d records while an arm is open, want %d", n, records.Sets*records.Keys)
	}
	if err := second.Trial(t.Context(), &lab.Trial{Plan: lab.Plan{N: 2}}); err != nil {
		t.Error(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if n := there(); n != 0 {
		t.Errorf("%d records are left", n)
	}
}

// Queries have the part of misses that their arm says, the same keys for every
// seed, in another order.
func TestQueries(t *testing.T) {
	one, two := ask(lab.Arm{}, "", 1), ask(lab.Arm{}, "", 2)
	count := func(q aerospike.Query) (n, missing int, keys map[string]int) {
		keys = map[string]int{}
		for _, s := range q {
			for _, k := range s.Keys {
				n++
				keys[s.Set+"/"+k]++
				if k[0] == 'm' {
					missing++
				}
			}
		}
		return n, missing, keys
	}
	n, missing, keys := count(one)
	if n != 1800 || missing < 100 || missing > 260 {
		t.Errorf("%d keys, %d of them missing, want 1800 and about 180", n, missing)
	}
	_, _, again := count(two)
	for k, c := range keys {
		if again[k] != c {
			t.Errorf("key %s: %d times, then %d", k, c, again[k])
		}
	}
	if one[0].Keys[0] == two[0].Keys[0] && one[0].Keys[1] == two[0].Keys[1] && one[0].Keys[2] == two[0].Keys[2] {
		t.Error("two seeds gave the same order")
	}
}

// arm is an experiment's baseline on its first rig with other levels.
func arm(t *testing.T, e lab.Experiment, levels map[string][]string) lab.Arm {
	t.Helper()
	arms, err := e.Arms(e.Rigs[0], lab.Selection{Set: levels})
	if err != nil {
		t.Fatal(err)
	}
	return arms[0]
}

// trial runs two operations of an arm on the fake.
func trial(t *testing.T, e lab.Experiment, levels map[string][]string) lab.Result {
	t.Helper()
	h, err := host.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	levels["costs"] = []string{"none"} // nothing to calibrate
	s, err := e.Open(t.Context(), e.Rigs[0], arm(t, e, levels), h)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Run(t.Context(), lab.Plan{Seed: 1, N: 2})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stageTime is a stage's part of the critical path.
func stageTime(r lab.Result, name string) int64 {
	path := r.Path()
	stage, ok := path.Set.Lookup(name)
	if !ok {
		return -1
	}
	return path.Stages[stage]
}

// Each layer has the stages of those below it and its own.
func TestLayersHaveTheirStages(t *testing.T) {
	for l, want := range map[string]map[string]bool{
		"A": {"io": true, "transport": false, "inference": false},
		"B": {"io": true, "transport": true, "inference": false},
		"C": {"io": true, "transport": true, "inference": true, "features": true, "encode": true},
	} {
		r := trial(t, Layers, map[string][]string{"layer": {l}, "batch": {"50"}})
		for stage, there := range want {
			if got := stageTime(r, stage); (got > 0) != there {
				t.Errorf("layer %s: %s took %d ns, there: %v", l, stage, got, there)
			}
		}
		if pool := stageTime(r, "spawn_blocking_delay"); (pool > 0) != (l != "A") {
			t.Errorf("layer %s: the official reader waited %d ns for a pool", l, pool)
		}
	}
}

// The set that holds nothing is timed apart, and nothing of it is found.
func TestEmptySetIsKeptOut(t *testing.T) {
	for label, want := range map[string][2]float64{"full": {80, 97}, "empty": {0, 0}} {
		r := trial(t, SetEight, map[string][]string{"set": {label}})
		got, ok := r.Value(found)
		if !ok || got < want[0] || got > want[1] || r.Ops() != 2 {
			t.Errorf("set=%s: %v %% found in %d reads, want %v in 2", label, got, r.Ops(), want)
		}
		if all, ok := r.Value(naive); !ok || all <= 0 {
			t.Errorf("set=%s: average of all sets %v", label, all)
		}
	}
}

// Stages that are compared are on where the arm says so; where they aren't, they
// are always on.
func TestProfilingIsCompared(t *testing.T) {
	for label, want := range map[string]bool{"off": false, "on": true} {
		levels := map[string][]string{"stages": {label}}
		if on, compared := profiled(arm(t, ProfilingCost, levels)); on != want || !compared {
			t.Errorf("stages=%s: on %v, compared %v", label, on, compared)
		}
		if pair, ok := trial(t, ProfilingCost, levels).Value(stagePair); !ok || pair <= 0 {
			t.Errorf("stages=%s: a stage takes %v ns", label, pair)
		}
	}
	if on, compared := profiled(arm(t, Mystery, map[string][]string{})); !on || compared {
		t.Errorf("mystery: on %v, compared %v", on, compared)
	}
}

// Workload factors change what is asked, and a cold client still answers.
func TestWorkload(t *testing.T) {
	base := trial(t, Mystery, map[string][]string{"mode": {"single"}})
	for name, level := range map[string]string{"order": "mixed", "bins": "two", "inline": "false", "connections": "none", "burn": "1", "limit": "4"} {
		r := trial(t, Mystery, map[string][]string{"mode": {"single"}, name: {level}})
		if r.Ops() != base.Ops() || r.Took() <= 0 {
			t.Errorf("%s=%s: %d operations in %v", name, level, r.Ops(), r.Took())
		}
	}
	a := arm(t, Mystery, map[string][]string{"bins": {"two"}})
	specs, bins := specsOf(a)
	if len(specs) != 2 || fmt.Sprint(bins) != "[age ctr]" {
		t.Errorf("projection: %v, %v", specs, bins)
	}
}

func TestLimits(t *testing.T) {
	if err := enoughCores(t.Context()); err != nil {
		t.Skip(err)
	}
	if l := limits(arm(t, Cores, map[string][]string{"cores": {"1"}, "gomaxprocs": {"4"}})); len(l.CPUs) != 1 || l.MaxProcs != 4 {
		t.Errorf("limits of one core and four processors of Go: %+v", l)
	}
	if l := limits(arm(t, Cores, map[string][]string{})); l.MaxProcs != 0 {
		t.Errorf("limits of the baseline: %+v", l)
	}
}
