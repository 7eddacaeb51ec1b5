package main

import (
	"bytes"
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
	want := map[string]string{}
	for _, tg := range targets {
		for _, c := range clients {
			for _, cs := range cases {
				t.Run(tg.name+"/"+c.name+"/"+cs.name, func(t *testing.T) {
					got, err := cs.on(t.Context(), tg, c)
					if known := cs.known[tg.kind]; known != "" {
						if err == nil {
							t.Errorf("it no longer differs: %s", known)
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					if first, ok := want[cs.name]; ok && got != first {
						t.Errorf("%s, and before: %s", got, first)
					}
					want[cs.name] = got
				})
			}
		}
	}
	t.Run("real", func(t *testing.T) {
		if missing != nil {
			labtest.Require(t, "s3", missing)
		}
	})
}

// The command prints a row a case.
func TestTable(t *testing.T) {
	if testing.Short() {
		t.Skip("asks all again")
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, cs := range cases {
		if !strings.Contains(out.String(), "\n| "+cs.name+" | ") {
			t.Errorf("no row %q in\n%s", cs.name, &out)
		}
	}
}
