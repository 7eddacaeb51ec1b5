package page

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"latlab.example/common/fidelity"
	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/results"
	"latlab.example/experiments/runner"
)

var made = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// put runs an experiment on a rig and writes its results.
func put(tb testing.TB, dir string, e lab.Experiment, rig string, sel lab.Selection, blocks int) {
	tb.Helper()
	r, err := e.Rig(rig)
	if err != nil {
		tb.Fatal(err)
	}
	arms, err := e.Arms(r, sel)
	if err != nil {
		tb.Fatal(err)
	}
	c := runner.Config{Seed: 7, Blocks: blocks, Budget: time.Hour, Times: true, Host: host.Fingerprint{OS: "linux", CPU: "a <fast> one", Logical: 2}}
	set, err := runner.Run(tb.Context(), c, e, r, arms)
	if err != nil {
		tb.Fatal(err)
	}
	set.Rows[0].Trials[0].Dirty = "others used 1.00 of a core"
	if _, err := results.Write(dir, set, results.Build{Commit: "0123456789abcdef", Go: "go1"}); err != nil {
		tb.Fatal(err)
	}
}

func read(tb testing.TB, dir string) Input {
	tb.Helper()
	f, err := results.ReadFolder(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return Input{Folder: f, Made: made}
}

func write(tb testing.TB, in Input) string {
	tb.Helper()
	p, err := New(in)
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// everything is a page with each of its parts.
func everything(tb testing.TB) Input {
	tb.Helper()
	dir := tb.TempDir()
	keys := lab.Selection{Cross: []string{"strategy", "keys"}}
	put(tb, dir, ladderToy(), "model", keys, 8)
	put(tb, dir, toy.Speed, "model", lab.Selection{}, 8)
	put(tb, dir, toy.Speed, "picky", lab.Selection{}, 2)
	put(tb, dir, toy.Speed, "disk", lab.Selection{}, 8)
	put(tb, dir, toy.Locked, "disk", lab.Selection{}, 8)
	in := read(tb, dir)
	f := func(v float64) *float64 { return &v }
	in.Sweeps = []results.Sweep{{
		Experiment: "toy/saving", Rig: "model", Provenance: "modelled", Baseline: "strategy=loop", Parameter: "saved", Has: "0.3", Source: "assumed", Unit: "sec/op",
		Points: []results.SweepPoint{
			{Value: 0, Text: "0", Arms: []results.SweepArm{{Arm: "strategy=batch", Ratio: results.Interval{Lo: f(1), Mid: f(1), Hi: f(1)}, Verdict: lab.Fails}}},
			{Value: 5, Text: "0.5", Arms: []results.SweepArm{{Arm: "strategy=batch", Ratio: results.Interval{Mid: f(0.5)}, Verdict: lab.Inconclusive}}},
		},
	}}
	in.Tornados = []results.Tornado{{
		Experiment: "toy/speed", Rig: "model", Provenance: "modelled", Baseline: "strategy=loop", Arm: "strategy=batch", Unit: "sec/op", Base: 0.5,
		Bars: []results.Bar{{Parameter: "wake", From: "0s", To: "2ms", AtFrom: 0.4, AtTo: 0.8, Source: "published: toy.wake"}},
	}}
	in.Claims = []Claim{{
		Case: "toy", Text: "A batch is faster", Published: "-50 %", Verdict: "modelled: holds; measured: no run yet",
		Audit:    []Finding{{"impossible", "More than the whole is saved."}},
		Modelled: Side{Verdict: lab.Holds, Answers: []Answer{{Rig: "model", Effect: "-50.1 % [-50.3, -49.6]", Verdict: lab.Holds}}},
		Measured: Side{Note: "no run yet: latlab run toy/speed"},
	}}
	in.Fidelity = []Fidelity{{Title: "host x", Table: fidelity.Table{{Name: "cores", Production: "2", Here: "4", Status: fidelity.Differs, Why: "shared"}}}}
	in.Skipped = []results.Skipped{{Path: "broken.json", Err: errors.New("not a result")}}
	return in
}

// ladderToy is a batch that pays from 100 keys on.
func ladderToy() lab.Experiment {
	strategy := lab.NewFactor("strategy", "loop", "batch")
	keys := lab.NewFactor("keys", 1, 10, 100, 1000)
	return lab.Experiment{
		Name: "toy/ladder", Question: "From how many keys on does a batch pay?", Note: "an operation is a put of all keys",
		Factors: []lab.Factor{strategy, keys}, Outcomes: []lab.Unit{{Name: "req/s", Better: lab.Up}, {Name: "p95-ns/op", Better: lab.Down}},
		Rule: lab.Faster(0.10).NoEffectUnder(0.05),
		Rigs: []lab.Rig{lab.Virtual("model", []string{"a toy"}, toy.Opens(func(_ context.Context, a lab.Arm, t *lab.Trial) error {
			took := time.Duration(keys.Of(a)) * time.Millisecond
			if strategy.Of(a) == "batch" {
				took = took/2 + 5*time.Millisecond
			}
			t.Ops, t.Took = 1, took
			t.Observe(lab.Unit{Name: "req/s"}, 1/took.Seconds())
			t.Observe(lab.Unit{Name: "p95-ns/op"}, 2*float64(took))
			return nil
		}))},
	}
}

func TestPage(t *testing.T) {
	text := write(t, everything(t))
	for _, want := range []string{
		`<title>latlab report</title>`,
		"3 experiments, 6 runs: 4 modelled, 2 measured; 1 arm refused", // toy/locked wrote a file in each half
		`toy/speed</a><small>Is a batch faster than a loop?`,
		`<b>Rule</b> at least 10 % faster and queue-depth up holds`,
		`refused</span> not the device that it claims to be: asked for 50us, got 80us`,
		`1 of 8 trials disturbed`, `others used 1.00 of a core`,
		`A verdict`, `<b>Flips along keys</b> batch: fails at 1 and 10, holds at 100 and 1000.`, `a verdict flips along keys`,
		`time/op along keys`, `req/s along keys`, `p95/op along keys`,
		`unattributed`, `One operation`, `whole operation, percentiles</figcaption>`, `whole operation, distribution (log scale)</figcaption>`, `write, percentiles</figcaption>`,
		`a toy knows no queue`, `asked for 50us, got 50us`, `0123456789ab`, `A/A control`,
		`what moves the effect of batch on time/op`, `effect on time/op along saved`, `toy/saving`,
		`More than the whole is saved.`, `no run yet: latlab run toy/speed`,
		`Where this differs from production`, `<span class="status differs">differs</span>`,
		`a &lt;fast&gt; one`, `Files that were left out`, `broken.json`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	check(t, text)
}

// The same input gives the same bytes.
func TestSameBytes(t *testing.T) {
	in := everything(t)
	first := write(t, in)
	if second := write(t, in); second != first {
		t.Error("two pages of one input differ")
	}
}

var (
	svg     = regexp.MustCompile(`(?s)<svg.*?</svg>`)
	picture = regexp.MustCompile(`<svg[^>]*role="img"[^>]*>`)
	panels  = regexp.MustCompile(`<section class="panel (modelled|measured)"`)
)

// check holds a page against what every page promises.
func check(t *testing.T, text string) {
	t.Helper()
	if n := strings.Count(text, "<script"); n != 1 {
		t.Errorf("%d scripts; want its own", n)
	}
	for _, banned := range []string{"NaN", "Inf", "http://", "https://", "ZgotmplZ", "url(\"", "@import"} {
		if i := strings.Index(text, banned); i >= 0 {
			t.Errorf("the page has %q: %s", banned, text[max(0, i-60):min(len(text), i+60)])
		}
	}
	for _, s := range svg.FindAllString(text, -1) {
		if err := wellFormed(s); err != nil {
			t.Errorf("%v in %.300s", err, s)
		}
	}
	// Each picture says what its figures are, in words and by its class.
	half := ""
	for _, m := range regexp.MustCompile(panels.String()+"|"+picture.String()).FindAllString(text, -1) {
		if p := panels.FindStringSubmatch(m); p != nil {
			half = p[1]
			continue
		}
		if !strings.Contains(m, half) || !strings.Contains(m, " "+map[string]string{"modelled": "mod", "measured": "mea"}[half]+`"`) {
			t.Errorf("a picture of a %s panel doesn't say so: %s", half, m)
		}
	}
}

func wellFormed(s string) error {
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// A modelled and a measured half of one run share no panel, and an effect between
// them is called modelled.
func TestHalvesStayApart(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, toy.Locked, "disk", lab.Selection{}, 8)
	text := write(t, read(t, dir))
	if got := panels.FindAllString(text, -1); len(got) != 2 || got[0] == got[1] {
		t.Errorf("panels %v; want one of each", got)
	}
	if !strings.Contains(text, "against a measured arm: a modelled figure, since one side is simulated") {
		t.Error("the effect doesn't say that one side is simulated")
	}
}

// Of the same arms the newest run is shown in full, the others as rows.
func TestEarlierRuns(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		put(t, dir, toy.Speed, "model", lab.Selection{}, 2)
	}
	in := read(t, dir)
	for i := range in.Runs {
		in.Runs[i].Meta.Start = made.Add(time.Duration(i) * time.Hour)
	}
	p, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Experiments[0]; len(e.Panels) != 1 || len(e.Panels[0].Earlier) != 2 || e.Panels[0].When != "2026-03-01 14:00 UTC" {
		t.Errorf("%d panels, the first of %s with %d earlier runs; want 1 of 14:00 with 2", len(e.Panels), e.Panels[0].When, len(e.Panels[0].Earlier))
	}
}

func TestOrder(t *testing.T) {
	in := everything(t)
	in.Order = []string{"toy/speed"}
	p, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range p.Experiments {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "toy/speed toy/ladder toy/locked" {
		t.Errorf("order %s; want the known one first, then by name", got)
	}
}

func TestNothing(t *testing.T) {
	if _, err := New(Input{}); !errors.Is(err, ErrNothing) {
		t.Errorf("%v; want ErrNothing", err)
	}
}

// A file of before judgements were recorded is shown, and says what it lacks.
func TestOldFile(t *testing.T) {
	m, err := results.ReadMeta(strings.NewReader(`{"experiment": "x/y", "rig": "r", "kind": "real", "provenance": "measured", "host_id": "h", "rule": "any",
		"arms": [{"arm": "a=1", "trials": [{"values": {"sec/op": 1}}]}, {"arm": "a=2", "trials": [{"values": {"sec/op": 2}}]}]}`), "old")
	if err != nil {
		t.Fatal(err)
	}
	text := write(t, Input{Folder: results.Folder{Runs: []results.Stored{{Path: "old", Meta: m}}}, Made: made})
	if !strings.Contains(text, "written by an older latlab, without its verdicts; run it again") {
		t.Error("the page doesn't say that the file is old")
	}
	check(t, text)
}

// Whatever a stranger's file says, the page stays a page.
func FuzzPage(f *testing.F) {
	for _, bad := range []string{"strategy=batch/keys=1", `<script>alert(1)</script>`, `"' onload=alert(1) x=`, `]]>--></svg></style>`, "a=\u202e1/b=\x00"} {
		f.Add(bad, bad, 1e300, -1e-300, int64(5))
		f.Add(bad, "n=2", 0.0, 5e-324, int64(math.MaxInt64))
	}
	f.Fuzz(func(t *testing.T, arm, word string, a, b float64, ns int64) {
		number := func(v float64) *float64 { return &v }
		unit := strings.TrimSuffix(word, "\x00") + "-ns/op"
		trials := []results.Trial{
			{Values: map[string]float64{"sec/op": a, unit: b}, Dirty: word},
			{Block: 1, Values: map[string]float64{"sec/op": b, "req/s": a}},
		}
		m := results.Meta{
			Experiment: word, Question: word, Note: word, Rule: word, Rig: word, Kind: "emulated", Provenance: "modelled", HostID: word, Host: &host.Fingerprint{OS: word},
			Units: []results.Unit{{Name: "sec/op", Better: "down"}, {Name: unit, Better: "up"}, {Name: "req/s", Better: "up"}}, Unit: "sec/op", Baseline: arm,
			Floor: number(a), AA: results.Interval{Lo: number(b), Mid: number(a), Hi: number(b)}, Refused: []results.Refused{{Arm: word, Reason: word}},
		}
		for _, name := range []string{arm, word, arm + "/n=1", arm + "/n=2", arm + "/n=3"} {
			m.Arms = append(m.Arms, results.Arm{
				Arm: name, Trials: trials, Assumptions: []string{word}, Calibration: word,
				Path:     []metrics.Row{{Stage: word, NsOp: a, Percent: b}, {Stage: metrics.Unattributed, NsOp: b, Percent: a}},
				Timeline: &results.Timeline{Stages: []string{word}, Took: ns, Intervals: [][4]int64{{0, 0, 0, ns}, {0, 1, ns / 2, ns}}},
				Effect: &results.Effect{Reference: word, ReferenceProvenance: word, Judged: true, Verdict: lab.Fails, Reason: word,
					Ratios: map[string]results.Interval{"sec/op": {Lo: number(b), Mid: number(a)}}},
			})
		}
		text, err := json.Marshal(m)
		if err != nil {
			return // a figure that JSON can't hold
		}
		if m, err = results.ReadMeta(bytes.NewReader(text), "fuzz"); err != nil {
			return
		}
		plain := strings.NewReplacer("NaN", "", "Inf", "", "http", "", "ZgotmplZ", "", "url(", "", "@import", "")
		if plain.Replace(arm+word) != arm+word {
			return // words that a text may have, and a page of itself may not
		}
		check(t, write(t, Input{Folder: results.Folder{Runs: []results.Stored{{Path: word, Meta: m}}}, Made: made}))
	})
}

func TestNumber(t *testing.T) {
	for label, want := range map[string]float64{"100": 100, "0.9": 0.9, "50us": 50e-6, "4KiB": 4096, "64B": 64, "0s": 0, "1m0s": 60} {
		if v, ok := number(label); !ok || math.Abs(v-want) > 1e-12 {
			t.Errorf("%s is %v, %v; want %v", label, v, ok, want)
		}
	}
	for _, label := range []string{"batch", "", "true", "NaN", "Inf", "4XiB", "KiB", "-"} {
		if v, ok := number(label); ok {
			t.Errorf("%s is %v; want no number", label, v)
		}
	}
}

func TestTypeset(t *testing.T) {
	for text, want := range map[string]string{
		"-":                                      "–",
		"105.3us":                                "105.3\u202fµs",
		"-43.2% [-45.0, -41.1]":                  "−43.2\u202f% [−45.0, −41.1]",
		"34.0KiB":                                "34.0\u202fKiB",
		"0s":                                     "0\u202fs",
		"queue-depth did not go up in 3 columns": "queue-depth did not go up in 3 columns",
		"the gain is at most 0.6 %, under 5 %":   "the gain is at most 0.6\u202f%, under 5\u202f%",
		"6 complete blocks; an interval needs at least 6": "6 complete blocks; an interval needs at least 6",
	} {
		if got := typeset(text); got != want {
			t.Errorf("%q is set as %q; want %q", text, got, want)
		}
	}
}

func TestGaps(t *testing.T) {
	got := gaps([][4]int64{{0, 0, 2, 5}, {0, 1, 3, 4}, {0, 0, 7, 9}}, 10)
	if want := "[[0 2] [5 7] [9 10]]"; fmt.Sprint(got) != want {
		t.Errorf("gaps %v; want %s", got, want)
	}
}
