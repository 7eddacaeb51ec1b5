package claims

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/registry"
)

// result writes a result file of toy/speed: of each arm the figures of the blocks,
// and beside it the A/A control, which is its twin times this factor.
func result(t *testing.T, dir, name, rig, provenance string, control float64, arms map[string][]float64) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "Unit sec/op better=lower\n\nprovenance: %s\nrig: %s\nhost: h\nexperiment: toy/speed\n\n", provenance, rig)
	for arm, values := range arms {
		for _, v := range values {
			fmt.Fprintf(&b, "BenchmarkToySpeed/%s-2\t1\t%g ns/op\t7 queue-depth\t0 spin-ns/op\n", arm, v)
		}
	}
	path := filepath.Join(dir, provenance, name+"-"+rig)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".txt", []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if control == 0 {
		return
	}
	type trial struct {
		Values map[string]float64 `json:"values"`
	}
	type arm struct {
		Arm     string  `json:"arm"`
		Control bool    `json:"control"`
		Trials  []trial `json:"trials"`
	}
	twins := []arm{{Arm: "a"}, {Arm: "a", Control: true}}
	for range 6 {
		twins[0].Trials = append(twins[0].Trials, trial{map[string]float64{"sec/op": 1}})
		twins[1].Trials = append(twins[1].Trials, trial{map[string]float64{"sec/op": control}})
	}
	kind, host := "emulated", ""
	if provenance == "measured" {
		kind, host = "real", "h"
	}
	meta, err := json.Marshal(map[string]any{
		"experiment": "toy/speed", "rig": rig, "kind": kind, "provenance": provenance, "host_id": host, "arms": twins, "blocks": 6, "planned_blocks": 6,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".json", meta, 0o600); err != nil {
		t.Fatal(err)
	}
}

// arm is a benchmark's name with all factors that the rig has.
func arm(strategy, keys string) string { return "strategy=" + strategy + "/keys=" + keys }

func virtualArm(strategy, keys string) string { return arm(strategy, keys) + "/latency=50us" }

func six(v float64) []float64 { return []float64{v, v * 1.01, v, v * 1.02, v, v * 1.01, v} }

var toys = registry.New([]lab.Experiment{toy.Speed})

// ask answers one claim by the results in a folder.
func ask(t *testing.T, dir string, c Claim) Entry {
	t.Helper()
	c.Case, c.Experiment = "toy", "toy/speed"
	if c.Unit == "" {
		c.Unit = "sec/op"
	}
	r, err := ReadResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := Study{Claims: []Claim{c}}
	entries, err := s.Ledger(t.Context(), toys, r, "toy")
	if err != nil {
		t.Fatal(err)
	}
	return entries[0]
}

func sel(t *testing.T, text string) Selector {
	t.Helper()
	s, err := parseSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rule(t *testing.T, text string) Rule {
	t.Helper()
	r, err := ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// batchBeatsLoop is a claim on three rigs of which one isn't there.
func batchBeatsLoop(t *testing.T) Claim {
	return Claim{Arms: []Selector{sel(t, "strategy=batch")}, Against: sel(t, "strategy=loop"), Rule: rule(t, "less 10% 5%")}
}

func TestNoRunYet(t *testing.T) {
	e := ask(t, t.TempDir(), batchBeatsLoop(t))
	if e.Modelled.Verdict != "" || e.Modelled.Reason != noRun ||
		!slices.Equal(e.Modelled.Missing, []string{"no run yet: latlab run toy/speed --rig model,picky --set strategy=loop,batch --cross strategy"}) {
		t.Errorf("modelled: %+v", e.Modelled)
	}
	want := []string{
		"not measurable here: server: no toy server on Linux or elsewhere; start one",
		"no run yet: latlab run toy/speed --rig disk --set strategy=loop,batch --cross strategy",
	}
	if e.Measured.Reason != noRun || !slices.Equal(e.Measured.Missing, want) {
		t.Errorf("measured: %+v; want %q", e.Measured, want)
	}
	if got := e.Verdict(); got != "modelled: no run yet; measured: no run yet" {
		t.Errorf("verdict %q", got)
	}
	c := batchBeatsLoop(t)
	c.Rigs = []string{"server"}
	e = ask(t, t.TempDir(), c)
	if e.Measured.Verdict != lab.NotMeasurable || e.Modelled.Reason != "no rig models it" {
		t.Errorf("on a server that isn't there: %+v", e)
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		batch   float64 // of a loop of 100
		control float64
		want    lab.Verdict
	}{
		{"faster", 50, 1.01, lab.Holds},
		{"slower", 150, 1.01, lab.Fails},
		{"between", 93, 1.01, lab.Inconclusive},
		{"in the noise", 80, 1.5, lab.Inconclusive},
		{"floor unknown", 50, 0, lab.Inconclusive},
	} {
		dir := t.TempDir()
		result(t, dir, "20260101T000000Z", "disk", "measured", c.control, map[string][]float64{
			arm("loop", "100"): six(100), arm("batch", "100"): six(c.batch),
		})
		e := ask(t, dir, batchBeatsLoop(t))
		if e.Measured.Verdict != c.want || len(e.Measured.Answers) != 1 || e.Measured.Answers[0].Host != "h" {
			t.Errorf("%s: %+v; want %s", c.name, e.Measured, c.want)
		}
	}
}

func TestRigsDisagree(t *testing.T) {
	dir := t.TempDir()
	result(t, dir, "20260101T000000Z", "model", "modelled", 1.01, map[string][]float64{
		virtualArm("loop", "100"): six(100), virtualArm("batch", "100"): six(50),
	})
	result(t, dir, "20260101T000000Z", "picky", "modelled", 1.01, map[string][]float64{
		arm("loop", "100"): six(100), arm("batch", "100"): six(150),
	})
	e := ask(t, dir, batchBeatsLoop(t))
	if e.Modelled.Verdict != lab.Inconclusive || e.Modelled.Reason != "it rests on the rig: holds on model; fails on picky" {
		t.Errorf("%+v", e.Modelled)
	}
	if len(e.Modelled.Missing) != 0 || e.Measured.Reason != noRun {
		t.Errorf("%+v", e)
	}
}

// The newest file with all arms counts, and a level that a claim doesn't name is
// the baseline's.
func TestWhichResult(t *testing.T) {
	dir := t.TempDir()
	result(t, dir, "20260101T000000Z", "disk", "measured", 1.01, map[string][]float64{
		arm("loop", "100"): six(100), arm("batch", "100"): six(150),
	})
	result(t, dir, "20260102T000000Z", "disk", "measured", 1.01, map[string][]float64{
		arm("loop", "100"): six(100), arm("batch", "100"): six(50),
	})
	result(t, dir, "20260103T000000Z", "disk", "measured", 1.01, map[string][]float64{
		arm("loop", "1000"): six(100), arm("batch", "1000"): six(150),
	})
	result(t, dir, "20260104T000000Z", "disk", "measured", 1.01, map[string][]float64{arm("loop", "100"): six(100)})
	if e := ask(t, dir, batchBeatsLoop(t)); e.Measured.Verdict != lab.Holds || !strings.Contains(e.Measured.Answers[0].File, "20260102") {
		t.Errorf("%+v; want the file of the 2nd", e.Measured)
	}
	c := batchBeatsLoop(t)
	c.Arms, c.Against = []Selector{sel(t, "strategy=batch,keys=1000")}, sel(t, "strategy=loop,keys=1000")
	if e := ask(t, dir, c); e.Measured.Verdict != lab.Fails || !strings.Contains(e.Measured.Answers[0].File, "20260103") {
		t.Errorf("%+v; want the file of the 3rd", e.Measured)
	}
}

func TestRulesOnResults(t *testing.T) {
	dir := t.TempDir()
	result(t, dir, "20260101T000000Z", "disk", "measured", 1.01, map[string][]float64{
		arm("loop", "100"): six(100), arm("batch", "100"): six(50), arm("same", "100"): six(101),
		arm("loop", "1000"): six(1000), arm("batch", "1000"): six(1100), arm("same", "1000"): six(3000),
	})
	for _, c := range []struct {
		arms, against, unit, rule string
		want                      lab.Verdict
		effect                    string
	}{
		{"strategy=batch", "strategy=loop", "sec/op", "ratio 0.5 within 10%", lab.Holds, "-50.0 %"},
		{"strategy=same", "strategy=loop", "sec/op", "near 10%", lab.Holds, "+1.0 %"},
		{"strategy=batch", "strategy=loop", "sec/op", "flips 10% along keys", lab.Holds, "100: -50.0 %; 1000: +10.0 %"},
		{"strategy=same", "strategy=loop", "sec/op", "flips 10% along keys", lab.Fails, "100: +1.0 %; 1000: +200.0 %"},
		{"strategy=batch", "strategy=loop", "sec/op", "shrinks along keys from 100 to 1000", lab.Holds, ""},
		{"strategy=batch", "strategy=loop", "sec/op", "shrinks along keys from 1000 to 100", lab.Fails, ""},
		{"strategy=batch", "", "sec/op", "figure 0.00000005 within 10%", lab.Holds, "50ns [50, 51]"},
		{"strategy=batch", "", "queue-depth", "at least 7", lab.Holds, "7 queue-depth"},
		{"strategy=batch", "", "queue-depth", "at most 6", lab.Fails, ""},
		{"strategy=batch", "", "spin-ns/op", "at most 0", lab.Holds, "0ns"},
		{"strategy=batch | strategy=loop | keys=1000", "", "sec/op", "order", lab.Holds, ""},
		{"strategy=loop | strategy=batch", "", "sec/op", "order", lab.Fails, ""},
	} {
		claim := Claim{Against: sel(t, c.against), Unit: c.unit, Rule: rule(t, c.rule)}
		for text := range strings.SplitSeq(c.arms, " | ") {
			claim.Arms = append(claim.Arms, sel(t, text))
		}
		e := ask(t, dir, claim)
		if e.Measured.Verdict != c.want || !strings.HasPrefix(e.Measured.Answers[0].Effect, c.effect) {
			t.Errorf("%s, %s: %+v; want %s, %q", c.arms, c.rule, e.Measured, c.want, c.effect)
		}
	}
}

// A rig that is real but ran a simulating level gave a modelled result.
func TestProvenanceIsTheFiles(t *testing.T) {
	dir := t.TempDir()
	result(t, dir, "20260101T000000Z", "disk", "modelled", 1.01, map[string][]float64{
		arm("loop", "100"): six(100), arm("batch", "100"): six(50),
	})
	if e := ask(t, dir, batchBeatsLoop(t)); e.Modelled.Verdict != lab.Holds || e.Measured.Verdict == lab.Holds {
		t.Errorf("%+v", e)
	}
}

func TestReadResultsNotes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"x.txt": "BenchmarkX 1 5 ns/op\n", "y.md": "not looked at"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := ReadResults(dir, filepath.Join(dir, "none"))
	if err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "x.txt:1: not a latlab result file") {
		t.Errorf("%v, %v", r.Notes, err)
	}
}

func TestLedgerOfNoCase(t *testing.T) {
	if _, err := loaded(t).Ledger(t.Context(), toys, Results{}, "none"); !errors.Is(err, ErrCase) {
		t.Errorf("%v; want ErrCase", err)
	}
}

// Every claim can be written in every format, before any run.
func TestWrite(t *testing.T) {
	s := loaded(t)
	entries, err := s.Ledger(t.Context(), registry.All(), Results{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(s.Claims) {
		t.Fatalf("%d entries of %d claims", len(entries), len(s.Claims))
	}
	var text, table, data bytes.Buffer
	if err := errors.Join(WriteText(&text, entries), WriteMarkdown(&table, entries), WriteJSON(&data, entries)); err != nil {
		t.Fatal(err)
	}
	var back []struct{ ID, Verdict string }
	if err := json.Unmarshal(data.Bytes(), &back); err != nil || len(back) != len(entries) {
		t.Errorf("%d entries in JSON, %v", len(back), err)
	}
	if n := strings.Count(table.String(), "\n"); n != len(entries)+2 {
		t.Errorf("%d lines of table for %d claims", n, len(entries))
	}
	for line := range strings.Lines(table.String()) {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 7 {
			t.Errorf("%d bars in %s", n, line)
		}
	}
	for _, e := range entries {
		if !strings.Contains(text.String(), e.Claim.ID+": "+e.Claim.Text+"\n") || e.Verdict() == "" {
			t.Errorf("%s isn't in the text", e.Claim.ID)
		}
	}
	if strings.Contains(text.String(), "{") {
		t.Error("a figure was not filled in")
	}
}

// What a model says it takes from the study stands there.
func TestModelsParametersArePublished(t *testing.T) {
	s := loaded(t)
	id := regexp.MustCompile(`\b(aero|raw|spatial|cold)\.[a-zA-Z0-9_.*]*[a-zA-Z0-9_*]`)
	checked := 0
	for _, e := range registry.All() {
		for _, rig := range e.Rigs {
			table, ok := rig.Params()
			if !ok {
				continue
			}
			for _, p := range table.Params() {
				if p.Source.Kind != param.IsPublished {
					continue
				}
				for _, row := range id.FindAllString(p.Source.Text, -1) {
					checked++
					if _, err := s.match(row); err != nil {
						t.Errorf("%s on %s: parameter %s comes from %q: %v", e.Name, rig.Name(), p.Name, p.Source.Text, err)
					}
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no model names a row")
	}
}
