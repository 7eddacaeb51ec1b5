package study

import (
	"errors"
	"testing"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

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
	c, err := fake.New(fake.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, addr := range []string{"", "127.0.0.1:1", "nonsense", c.Addrs()[0]} {
		t.Setenv(AddrVariable, addr)
		var u *lab.Unavailable
		if err := rig.Probe(t.Context()); !errors.As(err, &u) || u.Need != "aerospike" || u.Do == "" {
			t.Errorf("address %q: %v, want lab.Unavailable with what to do", addr, err)
		}
	}
}

// The real rig's arms share their records, which the last one deletes. It runs
// here against a fake, below the probe that refuses it.
func TestRealRigCleansUp(t *testing.T) {
	c, err := fake.New(fake.Config{Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := place{addr: c.Addrs()[0], namespace: "test", prefix: "p_"}
	if _, err := openAt(p, lab.Arm{}); err == nil {
		t.Error("opened although the server doesn't tell what it holds")
	}
	p.reuse = true
	client, err := connect(p.addr, lab.Arm{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	there := func() (n int) {
		err := eachRecord(p.namespace, p.prefix, func(k *as.Key, _ []any) error {
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
	if n := there(); n != allSets*allKeys {
		t.Errorf("%d records while an arm is open, want %d", n, allSets*allKeys)
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
