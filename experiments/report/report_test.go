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
	"testing/quick"
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
	return Run{Set: s, Analysis: stats.Analyse(s), Files: []string{"results/a.txt"}, Budget: c.Budget}
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
	few.Budget, few.Shared = time.Minute, true // of several rigs: this one had less
	noted := toy.Locked
	noted.Note = "an operation is nothing but a wait, " + strings.Repeat("which takes as long as the lock is said to be held, ", 3) + "and no more"
	for name, r := range map[string]Run{
		"model":   newRun(t, toy.Speed, "model", 10),
		"crossed": newRun(t, toy.Speed, "model", 10, "strategy", "keys"),
		"refused": dirty,
		"few":     few,
		"both":    newRun(t, noted, "disk", 10),
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
	size := lab.Unit{Name: "dev-write-bytes"}
	for _, tt := range []struct{ got, want string }{
		{Summary(lab.SecPerOp, stats.Summary{Lo: 1.02e-4, Mid: 1.053e-4, Hi: 1.1e-4}), "105.3us [102, 110]"},
		{Summary(lab.SecPerOp, stats.Summary{Lo: 5e-9, Mid: 5e-9, Hi: 5e-9}), "5ns"},
		{Summary(lab.SecPerOp, stats.Summary{Lo: 1e-3, Mid: 2.5e-3, Hi: 1.2}), "2.5ms [1, 1200]"},
		{Summary(lab.SecPerOp, stats.Summary{Lo: -inf, Mid: 2, Hi: inf}), "2s [unknown]"},
		{Summary(lab.Writes, stats.Summary{Lo: 200, Mid: 200, Hi: 200}), "200"},
		{Summary(lab.Writes, stats.Summary{Lo: 199.999, Mid: 200, Hi: 200.001}), "200"},
		{Summary(lab.Writes, stats.Summary{Lo: 199.9, Mid: 200, Hi: 200.001}), "200 [199.9, 200]"},
		{Summary(lab.Writes, stats.Summary{Lo: -inf, Mid: nan, Hi: inf}), "-"},
		{Summary(size, stats.Summary{Lo: 33000, Mid: 34816, Hi: 36000}), "34.0KiB [32.2, 35.2]"},
		{Figure(size, 512), "512B"},
		{Figure(size, 1023), "1023B"},
		{Figure(size, 1024), "1.0KiB"},
		{Figure(size, 3<<20), "3.0MiB"},
		{Figure(lab.Unit{Name: "B/op"}, 5<<40), "5.0TiB"},
		{Figure(lab.Unit{Name: "bytesless"}, 4096), "4096"},
		{Figure(lab.SecPerOp, 0.25), "250ms"},
		{Figure(lab.Unit{Name: "p95-ns/op"}, 1.977e8), "197.7ms"},
		{Figure(lab.Unit{Name: "health-max-ns"}, 6e10), "60s"},
		{Figure(lab.Unit{Name: "turns/op"}, 4096), "4096"},
		{Change(lab.Interval{Lo: 0.5, Mid: 0.6, Hi: 1.1}), "-40.0% [-50.0, +10.0]"},
		{Change(lab.Interval{Lo: 2, Mid: 2, Hi: 2}), "+100.0%"},
		{Change(lab.Interval{Lo: -inf, Mid: 2, Hi: inf}), "+100.0% [unknown]"},
		{Change(lab.Interval{Lo: -inf, Mid: nan, Hi: inf}), "unknown"},
		{P(0), "exact"},
		{P(0.0004), "<0.001"},
		{P(0.0416), "0.042"},
		{P(1), "1.000"},
		{P(nan), "-"},
		{floor(0.0123), "1.2 % as a gain"},
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

func TestHost(t *testing.T) {
	h := host.Fingerprint{OS: "linux", CPU: strings.Repeat("a processor with a long name ", 5), Paths: []host.Path{{Path: "/data", FS: "ext4"}}}
	var b bytes.Buffer
	if err := Host(&b, h); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, line := range lines {
		if want := map[bool]string{true: "host      ", false: "          "}[i == 0]; !strings.HasPrefix(line, want) || len(line) > 120 {
			t.Errorf("line %d, of %d characters: %q", i+1, len(line), line)
		}
	}
	if got := strings.Fields(b.String())[1:]; len(lines) < 2 || strings.Join(got, " ") != strings.Join(strings.Fields(h.String()), " ") {
		t.Errorf("%d lines of %q; want several, and all of %q", len(lines), got, h.String())
	}
	if newRun(t, toy.Speed, "model", 1).OnHost() || newRun(t, toy.Speed, "server", 1).OnHost() || !newRun(t, toy.Speed, "picky", 1).OnHost() {
		t.Error("the host bears on figures in wall-clock time, and on no others")
	}
}

// Wrapping loses no word and keeps to the width where words allow it.
func TestWrap(t *testing.T) {
	f := func(lengths []uint8) bool {
		var words []string
		longest := 0
		for i, n := range lengths {
			words = append(words, strings.Repeat(string(rune('a'+i%26)), int(n%150)+1))
			longest = max(longest, len(words[i]))
		}
		text := wrap("label     ", strings.Join(words, " "))
		for line := range strings.Lines(text) {
			if len(strings.TrimRight(line, "\n")) > max(columns, 10+longest) {
				return false
			}
		}
		return strings.Join(strings.Fields(text), " ") == strings.Join(append([]string{"label"}, words...), " ")
	}
	if err := quick.Check(f, nil); err != nil {
		t.Error(err)
	}
}
