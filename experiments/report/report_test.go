package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

var update = flag.Bool("update", false, "write the goldens")

// newRun runs the experiment and takes out what differs from run to run.
func newRun(t *testing.T, e lab.Experiment, rig string, blocks int, cross ...string) Run {
	t.Helper()
	r, err := e.Rig(rig)
	if err != nil {
		t.Fatal(err)
	}
	arms, err := e.Arms(r, lab.Selection{Cross: cross})
	if err != nil {
		t.Fatal(err)
	}
	c := runner.Config{Seed: 42, Blocks: blocks, Budget: time.Hour, Host: host.Fingerprint{OS: "test"}}
	s, err := runner.Run(t.Context(), c, e, r, arms)
	if err != nil {
		t.Fatal(err)
	}
	s.Took = 1500 * time.Millisecond
	for _, row := range s.Rows {
		for i := range row.Trials {
			row.Trials[i].Dirty = ""
		}
	}
	return Run{Set: s, Analysis: stats.Analyse(s), Files: []string{"results/a.txt"}}
}

func text(t *testing.T, r Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	dirty := newRun(t, toy.Speed, "picky", 6)
	dirty.Set.Rows[0].Trials[2].Dirty = "others used 1.00 of a core"
	few := newRun(t, toy.Speed, "model", 3)
	few.Set.OverBudget, few.Set.Config.Blocks = true, 10
	for name, r := range map[string]Run{
		"model":   newRun(t, toy.Speed, "model", 10),
		"crossed": newRun(t, toy.Speed, "model", 10, "strategy", "keys"),
		"refused": dirty,
		"few":     few,
		"both":    newRun(t, toy.Locked, "disk", 10),
		"nothing": newRun(t, toy.Speed, "server", 10),
	} {
		got := text(t, r)
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", golden, got, want)
		}
	}
}

// A row that is copied out of its table keeps its provenance.
func TestEveryRowSaysItsProvenance(t *testing.T) {
	section := ""
	rows := map[string]int{}
	for line := range strings.Lines(text(t, newRun(t, toy.Locked, "disk", 6))) {
		switch {
		case strings.HasPrefix(line, "MODELLED"):
			section = "modelled"
		case strings.HasPrefix(line, "MEASURED"):
			section = "measured"
		case strings.HasPrefix(line, "noise"):
			section = ""
		}
		figures := strings.Contains(line, "lock=held  ") || strings.Contains(line, "baseline  ") && section != ""
		if !figures {
			continue
		}
		rows[section]++
		if !strings.HasPrefix(line, section+" ") {
			t.Errorf("in section %q: row %q doesn't say so", section, line)
		}
	}
	if rows["modelled"] != 1 || rows["measured"] != 1 {
		t.Errorf("rows %v; want one of each", rows)
	}
}

func TestFormats(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tt := range []struct{ got, want string }{
		{Summary(lab.SecPerOp, stats.Summary{Lo: 1.02e-4, Mid: 1.053e-4, Hi: 1.1e-4}), "105.3us [102, 110]"},
		{Summary(lab.SecPerOp, stats.Summary{Lo: 5e-9, Mid: 5e-9, Hi: 5e-9}), "5ns"},
		{Summary(lab.SecPerOp, stats.Summary{Lo: 1e-3, Mid: 2.5e-3, Hi: 1.2}), "2.5ms [1, 1200]"},
		{Summary(lab.SecPerOp, stats.Summary{Lo: -inf, Mid: 2, Hi: inf}), "2s [unknown]"},
		{Summary(lab.Writes, stats.Summary{Lo: 200, Mid: 200, Hi: 200}), "200"},
		{Summary(lab.Writes, stats.Summary{Lo: -inf, Mid: nan, Hi: inf}), "-"},
		{Change(lab.Interval{Lo: 0.5, Mid: 0.6, Hi: 1.1}), "-40.0% [-50.0, +10.0]"},
		{Change(lab.Interval{Lo: 2, Mid: 2, Hi: 2}), "+100.0%"},
		{Change(lab.Interval{Lo: -inf, Mid: 2, Hi: inf}), "+100.0% [unknown]"},
		{Change(lab.Interval{Lo: -inf, Mid: nan, Hi: inf}), "unknown"},
		{P(0), "exact"},
		{P(0.0004), "<0.001"},
		{P(0.0416), "0.042"},
		{P(1), "1.000"},
		{P(nan), "-"},
		{floor(0.0123), "1.2 %"},
		{floor(inf), "unknown"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q; want %q", tt.got, tt.want)
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, []Run{newRun(t, toy.Locked, "disk", 3), newRun(t, toy.Speed, "server", 3)}); err != nil {
		t.Fatal(err)
	}
	var runs []jsonRun
	if err := json.Unmarshal(b.Bytes(), &runs); err != nil {
		t.Fatal(err)
	}
	held, none := runs[0].Arms[0], runs[0].Arms[1]
	if held.Arm != "lock=held" || held.Provenance != "modelled" || none.Provenance != "measured" || none.Effect != nil {
		t.Errorf("arms %+v and %+v; want lock=held modelled, then the measured baseline", held, none)
	}
	e := held.Effect
	if e.ReferenceProvenance != "measured" || e.Verdict != lab.Inconclusive || *e.Ratios["sec/op"].Mid != 3 || e.Ratios["sec/op"].Lo != nil {
		t.Errorf("effect %+v; want 3 with unknown bounds against a measured reference", e)
	}
	if runs[0].NoiseFloor != nil || runs[0].Seed != 42 {
		t.Errorf("noise floor %v, seed %d; want unknown of 3 blocks, 42", runs[0].NoiseFloor, runs[0].Seed)
	}
	if len(runs[1].Arms) != 0 || len(runs[1].Refused) != 5 || !strings.Contains(runs[1].Refused[0].Reason, "no toy server") {
		t.Errorf("the unavailable rig: %+v", runs[1])
	}
}
