package claims

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"latlab.example/common/lab"
	"latlab.example/common/laws"
	"latlab.example/experiments/audit"
	"latlab.example/experiments/registry"
)

func loaded(t *testing.T) *Study {
	t.Helper()
	s, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A row that nobody uses would be a figure that nobody looks at.
func TestEveryRowIsUsed(t *testing.T) {
	s := loaded(t)
	unused, twice := s.Forgotten()
	for _, id := range unused {
		t.Errorf("row %s is used by no claim, no relation and no law, and context.csv doesn't list it", id)
	}
	for _, id := range twice {
		t.Errorf("row %s is used by a claim and listed in context.csv", id)
	}
	if n := len(s.Table.Figures); n < 250 {
		t.Errorf("%d rows; the studies published more", n)
	}
}

// The check above would notice a row that a claim forgets.
func TestAForgottenRowIsFound(t *testing.T) {
	s := *loaded(t)
	s.Claims = slices.DeleteFunc(slices.Clone(s.Claims), func(c Claim) bool { return c.ID == "cold.pull.large" })
	if unused, _ := s.Forgotten(); !slices.Equal(unused, []string{"cold.pull.large.size"}) {
		t.Errorf("without its claim: %v; want the size of the large document", unused)
	}
}

// Claims name experiments, factors, levels and units by their names.
func TestClaimsFitTheRegistry(t *testing.T) {
	s := loaded(t)
	unknown, early := s.Unknown(registry.All())
	for _, name := range unknown {
		t.Errorf("claims name experiment %s, which isn't registered: correct the name, or list it in pending.csv", name)
	}
	for _, name := range early {
		t.Errorf("experiment %s is registered now: take it off pending.csv, and see that its claims' arms fit", name)
	}
	for _, err := range s.Unasked(registry.All()) {
		t.Error(err)
	}
	for _, name := range s.Pending {
		if !slices.ContainsFunc(s.Claims, func(c Claim) bool { return c.Experiment == name }) {
			t.Errorf("no claim names pending experiment %s", name)
		}
	}
}

func TestUnaskedFindsWrongNames(t *testing.T) {
	list := registry.All()
	for _, c := range []Claim{
		{ID: "factor", Experiment: "rawblock/putmany", Unit: "sec/op", Arms: []Selector{{{"colour", "red"}}}},
		{ID: "level", Experiment: "rawblock/putmany", Unit: "sec/op", Arms: []Selector{{{"strategy", "prayer"}}}},
		{ID: "unit", Experiment: "rawblock/putmany", Unit: "furlongs", Arms: []Selector{{{"strategy", "batch"}}}},
		{ID: "rig", Experiment: "rawblock/putmany", Unit: "sec/op", Arms: []Selector{{}}, Rigs: []string{"none"}},
	} {
		s := Study{Claims: []Claim{c}}
		if errs := s.Unasked(list); len(errs) != 1 || !strings.Contains(errs[0].Error(), c.ID) {
			t.Errorf("%s: %v; want one error", c.ID, errs)
		}
	}
	s := Study{Claims: []Claim{{Experiment: "rawblock/none"}, {Experiment: "rawblock/putmany"}}, Pending: []string{"rawblock/putmany"}}
	if unknown, early := s.Unknown(list); !slices.Equal(unknown, []string{"rawblock/none"}) || !slices.Equal(early, []string{"rawblock/putmany"}) {
		t.Errorf("unknown %v, early %v", unknown, early)
	}
}

// What a reader found by hand is found by the laws alone, or it is said why not.
// That each key exists is checked by Load.
func TestSentences(t *testing.T) {
	s := loaded(t)
	said := make(map[string]bool)
	count := make(map[string]int)
	for _, x := range s.Sentences {
		count[x.Case]++
		for _, key := range x.Findings {
			said[key] = true
		}
	}
	for _, name := range s.Cases() {
		if count[name] < 5 {
			t.Errorf("%s: %d sentences", name, count[name])
		}
	}
	// A contradiction that no sentence mentions is news, and belongs there too.
	news := map[string]bool{
		"derived/aero.mystery.outside_share_stated":      true, // 99 % in prose, rounded up
		"derived/raw.patterns_stated":                    true,
		"one setting, two answers/aero.env.ratio.C.mean": true,
		"proportional in n/raw.sim.1000.50.fanout":       true, // with the fall in latency
		"proportional in n/raw.sim.1000.200.fanout":      true,
	}
	for _, f := range s.Report.Broken() {
		if !said[f.Key] && !news[f.Key] {
			t.Errorf("%s: no sentence says it: %s", f.Key, f.Text)
		}
		delete(news, f.Key)
	}
	for key := range news {
		t.Errorf("%s isn't found any more", key)
	}
}

// The findings that the studies' readers know best, with their numbers.
func TestFindings(t *testing.T) {
	s := loaded(t)
	for _, c := range []struct {
		key   string
		grade laws.Grade
		text  []string
	}{
		{"little/N=XR/aero.envA.official", laws.Impossible, []string{"14.9 requests in flight are more than the 10 users"}},
		{"a part is at most the whole/aero.stage.gil.spawn_blocking_delay/aero.k6.async.gather.avg", laws.Impossible, []string{"234 ms", "189 ms", "another run, load or population"}},
		{"a part is at most the whole/aero.stage.gil.io/aero.profiling.op.on.avg", laws.Impossible, []string{"7.51 ms", "3.22 ms"}},
		{"utilisation/aero.loop.gil.off", laws.Impossible, []string{"181 %", "at most 24 ms each"}},
		{"Little's law takes a mean/aero.solo.async.capacity", laws.Implausible, []string{"103/s", "p95"}},
		{"statement/aero.says.gap.gather", laws.Impossible, []string{"146 ms", "68 ms"}},
		{"statement/raw.says.one_wait/1", laws.Impossible, []string{"14.9 ms", "150 us"}},
		{"statement/raw.says.one_wait/2", laws.Impossible, []string{"146 ms"}},
		{"overshoot/raw.posix", laws.Implausible, []string{"50 us took 131 us (n=100)", "200 us took 285 us"}},
		{"cpu/raw.sim.100.0.uring", laws.Must, []string{"9.2 us"}},
		{"monotone in latency/raw.sim.1000.200.fanout", laws.Impossible, []string{"321.6 ms", "232.5 ms"}},
		{"share over a limit/spatial.nolog", laws.Impossible, []string{"701 ms", "0.48 %"}},
		{"counts over the limit/spatial.nolog", laws.Impossible, []string{"at least 641", "62"}},
		{"one load/spatial.load", laws.Implausible, []string{"4.75 s, 3.37 s, 3.23 s"}},
		{"pool size alone/spatial.nolog.rps", laws.Implausible, []string{"0.426 of them busy"}},
		{"mean against p95/cold.ladder.100.one.rps", laws.Implausible, []string{"+40 %", "+5 %"}},
		{"constant throughput/cold.two", laws.Implausible, []string{"4.06-fold"}},
		{"bound/cold.health.proxy.p95", laws.Implausible, []string{"60 s", "43.7 s"}},
	} {
		f, ok := s.Report.Find(c.key)
		if !ok || f.Grade != c.grade {
			t.Errorf("%s: found %v, %s; want %s", c.key, ok, f.Grade, c.grade)
			continue
		}
		for _, text := range c.text {
			if !strings.Contains(f.Text, text) {
				t.Errorf("%s: %q lacks %q", c.key, f.Text, text)
			}
		}
		if len(f.Rows) == 0 || f.Law == "" || f.Arithmetic == "" || f.Grade == laws.Implausible && f.Assumes == "" {
			t.Errorf("%s: incomplete: %+v", c.key, f)
		}
	}
	one, _ := s.Report.Find("one load/spatial.load")
	if !strings.HasPrefix(one.Assumes, "about 71 to 75 active users who think for 1.5 to 1.6 s") {
		t.Errorf("one load assumes %q", one.Assumes)
	}
	fanout, _ := s.Report.Find("monotone in latency/raw.sim.1000.200.fanout")
	if !slices.Equal(fanout.Rests, []string{"raw.sim.1000.50.vs_fanout", "raw.sim.1000.200.vs_fanout"}) {
		t.Errorf("what rests on fan-out's rows: %v", fanout.Rests)
	}
}

// A change that was worked out from others and agrees with them is found out when
// it is altered: each such row of the published figures, one at a time.
func TestPlantedInPublishedFigures(t *testing.T) {
	s := loaded(t)
	before := len(s.Report.Broken())
	tried := 0
	for _, f := range s.Table.Figures {
		if !slices.Contains(s.Report.Used[f.ID], "derived") || f.Quantity != "" || f.Text == "0" {
			continue
		}
		if _, broken := s.Report.Find("derived/" + f.ID); broken || !isDerived(s, f) {
			continue
		}
		tried++
		planted := altered(t, f)
		if n := len(planted.Broken()); n <= before {
			t.Errorf("%s: %v altered by half: %d findings, as before", f.ID, f, n)
		}
	}
	if tried < 50 {
		t.Errorf("%d rows were altered", tried)
	}
}

// isDerived says whether the row itself is worked out from others.
func isDerived(s *Study, f *audit.Figure) bool {
	for _, line := range strings.Split(published(), "\n") {
		if strings.HasPrefix(line, f.ID+",") {
			return strings.Contains(line, ",= ") || strings.Contains(line, `,"= `)
		}
	}
	return false
}

func published() string {
	b, err := files.ReadFile("published.csv")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// altered audits a copy of the published figures in which the row's value is half
// as much again.
func altered(t *testing.T, f *audit.Figure) audit.Report {
	t.Helper()
	var lines []string
	for _, line := range strings.Split(published(), "\n") {
		if strings.HasPrefix(line, f.ID+",") {
			value := f.Text
			if sign := strings.TrimPrefix(value, "-"); sign != value {
				value = "-1" + sign
			} else {
				value = "1" + value
			}
			line = strings.Replace(line, ","+f.Text+",", ","+value+",", 1)
		}
		lines = append(lines, line)
	}
	sources := Tables()
	sources[0].Reader = strings.NewReader(strings.Join(lines, "\n"))
	table, err := audit.Read(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return table.Audit()
}

func TestSources(t *testing.T) {
	s := loaded(t)
	for _, f := range s.Table.Figures {
		if !slices.ContainsFunc(s.Sources, func(x Source) bool { return x.Name == f.Source }) {
			t.Errorf("row %s is from %q, which sources.csv doesn't list", f.ID, f.Source)
		}
		if !slices.Contains(s.Cases(), f.Case) {
			t.Errorf("row %s is of case %q, which has no claim", f.ID, f.Case)
		}
	}
}

func TestParseRule(t *testing.T) {
	for _, text := range []string{
		"less 10% 5%", "more 10% 5%", "ratio 1.49 within 20%", "near 10%", "figure 20 within 50%", "at most 5", "at least 50",
		"flips 10% along keys", "shrinks along layer from A to C", "order",
	} {
		if r, err := ParseRule(text); err != nil || r.String() != text {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "less", "less 10 5", "less 5% 10%", "near ten%", "ratio 2 within 3", "figure -1 within 3%", "at most", "order of", "flips 10% at x", "shrinks along layer", "at most NaN", "at most Inf"} {
		if r, err := ParseRule(text); err == nil {
			t.Errorf("%q was read as %+v", text, r)
		}
	}
}

func TestJudge(t *testing.T) {
	iv := func(lo, hi float64) lab.Interval { return lab.Interval{Lo: lo, Mid: (lo + hi) / 2, Hi: hi} }
	inf := math.Inf(1)
	for _, c := range []struct {
		rule  string
		i     lab.Interval
		floor float64
		want  lab.Verdict
	}{
		{"less 10% 5%", iv(0.5, 0.9), 0.02, lab.Holds},
		{"less 10% 5%", iv(0.5, 0.91), 0.02, lab.Inconclusive},
		{"less 10% 5%", iv(0.5, 0.8), 0.3, lab.Inconclusive}, // two runs of one arm differ as much
		{"less 10% 5%", iv(0.96, 1.3), 0.02, lab.Fails},
		{"less 10% 5%", iv(0.96, 1.3), 0.2, lab.Inconclusive},
		{"less 10% 5%", iv(1.3, 1.4), 0.2, lab.Fails}, // the other way, beyond the noise
		{"less 10% 5%", iv(0.5, 0.6), inf, lab.Inconclusive},
		{"less 10% 5%", iv(-inf, inf), 0, lab.Inconclusive},
		{"more 10% 5%", iv(1.1, 1.3), 0.02, lab.Holds},
		{"more 10% 5%", iv(0.7, 1.04), 0.02, lab.Fails},
		{"ratio 2 within 10%", iv(1.9, 2.1), 0, lab.Holds},
		{"ratio 2 within 10%", iv(1.7, 1.9), 0, lab.Inconclusive},
		{"ratio 2 within 10%", iv(1.1, 1.2), 0, lab.Fails},
		{"ratio 2 within 10%", iv(1.9, 2.1), 0.2, lab.Inconclusive},
		{"near 10%", iv(0.95, 1.05), 0, lab.Holds},
		{"near 10%", iv(1.2, 1.3), 0, lab.Fails},
		{"figure 20 within 50%", iv(11, 29), 0, lab.Holds},
		{"figure 20 within 50%", iv(31, 40), 0, lab.Fails},
		{"at most 0", iv(0, 0), 0, lab.Holds},
		{"at most 0", iv(1, 1), 0, lab.Fails},
		{"at least 50", iv(49, 51), 0, lab.Inconclusive},
	} {
		r, err := ParseRule(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		got, why := r.judge(c.i, c.floor)
		if got != c.want || (why == "") == (got == lab.Inconclusive) {
			t.Errorf("%s of %v, floor %g: %s (%s); want %s", c.rule, c.i, c.floor, got, why, c.want)
		}
	}
}

func TestJudgeAlong(t *testing.T) {
	iv := func(mid float64) lab.Interval { return lab.Interval{Lo: mid * 0.99, Mid: mid, Hi: mid * 1.01} }
	for _, c := range []struct {
		rule   string
		ratios []float64
		want   lab.Verdict
	}{
		{"flips 10% along channels", []float64{1.2, 1, 0.5}, lab.Holds},
		{"flips 10% along channels", []float64{0.4, 0.5}, lab.Fails},
		{"flips 10% along channels", []float64{0.93, 0.5}, lab.Inconclusive},
		{"shrinks along layer from A to C", []float64{0.2, 0.8, 0.9}, lab.Holds},
		{"shrinks along layer from A to C", []float64{4.8, 1.27, 1.24}, lab.Holds},
		{"shrinks along layer from A to C", []float64{0.9, 0.2}, lab.Fails},
		{"shrinks along layer from A to C", []float64{0.9, 0.905}, lab.Inconclusive},
	} {
		r, err := ParseRule(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		var ratios []lab.Interval
		for _, x := range c.ratios {
			ratios = append(ratios, iv(x))
		}
		if got, _ := r.judgeAlong(ratios, make([]float64, len(ratios))); got != c.want {
			t.Errorf("%s of %v: %s; want %s", c.rule, c.ratios, got, c.want)
		}
	}
}

func TestJudgeOrder(t *testing.T) {
	iv := func(lo, hi float64) lab.Interval { return lab.Interval{Lo: lo, Mid: lo, Hi: hi} }
	for _, c := range []struct {
		figures []lab.Interval
		want    lab.Verdict
	}{
		{[]lab.Interval{iv(1, 2), iv(3, 4), iv(5, 6)}, lab.Holds},
		{[]lab.Interval{iv(1, 3), iv(2, 4), iv(5, 6)}, lab.Inconclusive},
		{[]lab.Interval{iv(1, 3), iv(2, 4), iv(0, 1)}, lab.Fails},
		{[]lab.Interval{iv(1, math.Inf(1)), iv(2, 4)}, lab.Inconclusive},
	} {
		if got, _ := judgeOrder(c.figures); got != c.want {
			t.Errorf("%v: %s; want %s", c.figures, got, c.want)
		}
	}
}

// A rule never holds and fails by the same interval made narrower.
func TestJudgeProperty(t *testing.T) {
	r, err := ParseRule("less 10% 5%")
	if err != nil {
		t.Fatal(err)
	}
	property := func(a, b, c, d uint16) bool {
		v := []float64{float64(a) / 30000, float64(b) / 30000, float64(c) / 30000, float64(d) / 30000}
		slices.Sort(v)
		wide, _ := r.judge(lab.Interval{Lo: v[0], Mid: v[1], Hi: v[3]}, 0.01)
		narrow, _ := r.judge(lab.Interval{Lo: v[1], Mid: v[1], Hi: v[2]}, 0.01)
		return wide == lab.Inconclusive || wide == narrow
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}
