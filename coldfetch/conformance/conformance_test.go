package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"latlab.example/common/lab/labtest"
)

// Every case gives the same answer with both clients, on the fake and on a real
// server.
func TestSameAnswers(t *testing.T) {
	targets, missing, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeAll(targets); err != nil {
			t.Error(err)
		}
	})
	all := newTable(targets)
	for _, to := range targets {
		for _, c := range clients {
			for _, cs := range cases {
				t.Run(to.name+"/"+c.name+"/"+cs.name, func(t *testing.T) {
					if err := all.add(cs, to, cs.on(t.Context(), to, c)); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
	var out bytes.Buffer
	if faults := all.write(&out); faults > 0 != t.Failed() || strings.Contains(out.String(), "WRONG") != t.Failed() {
		t.Errorf("the table counts %d faults:\n%s", faults, &out)
	}
	if cells, want := strings.Count(out.String(), "|"), (len(cases)+2)*(len(targets)*len(clients)+2); cells != want {
		t.Errorf("%d bars in the table, want %d:\n%s", cells, want, &out)
	}
	t.Run("real", func(t *testing.T) {
		if missing != nil {
			labtest.Require(t, "s3", missing)
		}
	})
}

// A wrong answer, another answer and a difference that is gone are faults.
func TestFaultsAreCounted(t *testing.T) {
	to := &target{name: "x", kind: "real"}
	all := newTable([]*target{to})
	known := testCase{name: cases[1].name, known: map[string]string{"real": "why"}}
	for _, c := range []struct {
		cs    testCase
		a     answer
		wrong bool
	}{
		{cases[0], answer{text: "1"}, false},
		{cases[0], answer{text: "1"}, false},
		{cases[0], answer{text: "2"}, true},
		{cases[0], answer{err: errors.New("a|b")}, true},
		{known, answer{err: errors.New("so it is")}, false},
		{known, answer{text: "1"}, true},
	} {
		if err := all.add(c.cs, to, c.a); (err != nil) != c.wrong {
			t.Errorf("%s %+v: %v", c.cs.name, c.a, err)
		}
	}
	var out bytes.Buffer
	if faults := all.write(&out); faults != 3 || strings.Count(out.String(), "WRONG: ") != 3 || !strings.Contains(out.String(), "differs: why") {
		t.Errorf("%d faults\n%s", faults, &out)
	}
}
