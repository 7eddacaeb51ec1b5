package main

import (
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"-h":                             {0, "-case"},
		"-what":                          {2, "-what"},
		"here":                           {2, "no argument"},
		"-case nobody":                   {2, "there are rawblock, crash"},
		"-case crash -seed 3":            {0, "seed 3: crash"},
		"-case crash -seed 3 -turns 2":   {0, "2 turns, seeds 3 to 3, 0 failures"},
		"-case crash,pull -turns 1":      {0, " pull "},
		"-case crash -for 1ns -turns 10": {0, "turns"},
	} {
		var out strings.Builder
		if code := run(t.Context(), &out, &out, strings.Fields(args)...); code != want.code || !strings.Contains(out.String(), want.says) {
			t.Errorf("%s: code %d, %s", args, code, out.String())
		}
	}
}
