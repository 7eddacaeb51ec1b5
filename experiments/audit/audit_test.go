package audit

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"latlab.example/common/laws"
)

func parse(t *testing.T, text string) *Table {
	t.Helper()
	table, err := Read(Source{"t.csv", strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// consistent has something for every law, and nothing to find.
const consistent = `id,value,unit,run,quantity,statistic,concurrency,servers,group,n,wait,relation
# One closed system of 100 users who think for 1 s, with two pools.
users,100,count,small large,users,,,,,,,
limit,500,ms,small large,limit,,,,,,,
small.mean,250,ms,small,response,mean,,9,,,,
small.p50,200,ms,small,response,p50,,,,,,
small.p90,450,ms,small,response,p90,,,,,,
small.p95,550,ms,small,response,p95,,,,,,
small.max,900,ms,small,response,max,,,,,,
small.rps,80,per_s,small,throughput,,,9,load,,,
small.slow,1680,count,small,slow count,,,,,,,
small.slow_pct,7.00,percent,small,slow,,,,,,,
small.success,0.9270833333333334,ratio,small,success,,,,,,,
small.query,0.10,s,small,part,mean,,,,,,part of small.mean
small.encode,50,ms,small,part,mean,,,,,,part of small.mean
small.hold,110,ms,small,hold,mean,,9,,,,
small.think,1.00,s,small,think,mean,,,,,,
large.mean,111,ms,large,response,mean,,20,,,,
large.rps,90,per_s,large,throughput,,,20,load,,,
gain,-56,percent,,,,,,,,,"= change(small.mean, large.mean)"
times,2.3,x,,,,,,,,,= small.mean / large.mean
again,81,per_s,,,,,,,,,>= small.rps; < large.rps
copy,250,ms,,,,,,,,,same as small.mean
# A saturated server, and one with two.
one,5.0,per_s,a,throughput,,1,1,ladder,,,served as 400ms or 20ms
ten,5.1,per_s,b,throughput,,10,1,ladder,,,served as 400ms or 20ms
one.p95,210,ms,a,response,p95,1,,,,,
two1,5.0,per_s,c,throughput,,1,2,pair,,,
two2,9.9,per_s,d,throughput,,2,2,pair,,,
# A device with one wait a key.
t0,1.0,ms,,time,,,,dev,100,0,
t50,6.0,ms,,time,,,,dev,100,50us,
t200,21.0,ms,,time,,,,dev,100,200us,
t200k,210,ms,,time,,,,dev,1000,200us,
t200more,22.0,ms,,time,,,,,,,more work than t200; apart from t50
sound,,,,,,,,,,,"t200 - t50 = 15ms"
`

func TestAConsistentTableHasNoFindings(t *testing.T) {
	r := parse(t, consistent).Audit()
	for _, f := range r.Broken() {
		t.Errorf("found %v", f)
	}
	// What must be true is found all the same.
	for key, value := range map[string]float64{
		"little/N=XR/small":   20,
		"little/N=X(R+Z)/x":   0, // there is none
		"counts/small":        24000,
		"waits/t200":          1,
		"cpu/t0":              1e-5,
		"mix/one":             0.474,
		"statement/sound":     0.015,
		"serial/small":        0.0125,
		"pool/XR>c/small":     11,
		"shares add up/small": 0.0029,
	} {
		f, ok := r.Find(key)
		if ok != (value != 0) || ok && !slices.ContainsFunc([]float64{0.9, 1, 1.1}, func(k float64) bool {
			return f.Value.Lo <= k*value && k*value <= f.Value.Hi
		}) {
			t.Errorf("%s: found %v, value %v; want %g", key, ok, f.Value, value)
		}
	}
	// Every law of a run, a group and a relation was held against something.
	used := make(map[string]bool)
	for _, names := range r.Used {
		for _, name := range names {
			used[name] = true
		}
	}
	for _, law := range []string{
		"little", "pool", "utilisation", "percentiles rise", "mean and percentiles", "share over a limit", "shares add up", "counts",
		"constant throughput", "mix", "one load", "pool size alone", "cpu a unit of work", "monotone in latency", "overshoot", "proportional in n",
		"derived", "like with like", "one setting, two answers", "a part is at most the whole", "sum of parts", "more work takes longer", "apart", "bound", "statement",
	} {
		if !used[law] && law != "like with like" {
			t.Errorf("law %q was held against nothing", law)
		}
	}
}

// Each planted inconsistency is found, by the law that it breaks, and by its
// row.
func TestPlanted(t *testing.T) {
	for _, c := range []struct {
		id, column, value string
		law               string // of the key
		grade             laws.Grade
		text              string
	}{
		{"small.rps", "value", "500", "little", laws.Impossible, "more than the 100 users"},
		{"small.think", "value", "0.50", "little", laws.Implausible, "account for"},
		{"small.hold", "value", "200", "utilisation", laws.Impossible, "178 % of the time; it can hold it for at most 113 ms"},
		{"small.p90", "value", "600", "percentiles rise", laws.Impossible, "the p90 of 600 ms is above the p95 of 550 ms"},
		{"small.mean", "value", "90", "mean and percentiles", laws.Impossible, "make a mean of"},
		{"small.mean", "value", "460", "mean and percentiles", laws.Impossible, "allow a mean of"},
		{"small.slow_pct", "value", "0.48", "share over a limit", laws.Impossible, "at least 5 % take 500 ms or longer, and 0.48 % are said to"},
		{"small.p90", "statistic", "p99", "percentiles rise", laws.Impossible, "the p95 of 550 ms is above the p99 of 450 ms"},
		{"large.rps", "value", "60", "one load", laws.Implausible, "not one closed system"},
		{"ten", "value", "20", "constant throughput", laws.Implausible, "grows 4-fold from 1 to 10 users"},
		{"ten", "value", "80", "mix", laws.Impossible, "fits no mix"},
		{"two2", "value", "14", "constant throughput", laws.Implausible, "grows 2.8-fold"},
		{"t200", "value", "5.0", "monotone in latency", laws.Impossible, "no steady system gets faster"},
		{"t50", "wait", "35us", "overshoot", laws.Implausible, "a wait of 35 us took 50 us"},
		{"small.rps", "servers", "19", "pool size alone", laws.Implausible, "a mean of 250 ms"},
		{"t200k", "value", "400", "proportional in n", laws.Implausible, "took 210 us among 100 and 400 us among 1000"},
		{"gain", "value", "-36", "derived", laws.Impossible, "Gain is given as -36 %, and -55.6 % follows"},
		{"again", "value", "91", "bound", laws.Impossible, "must be less than 90/s"},
		{"copy", "value", "350", "one setting, two answers", laws.Implausible, "350 ms in one place and 250 ms in another, 1.4 times as much"},
		{"small.query", "value", "0.30", "a part is at most the whole", laws.Impossible, "and the whole that it is a part of"},
		{"small.query", "value", "0.22", "sum of parts", laws.Implausible, "are 270 ms together, and the whole is 250 ms"},
		{"t200more", "value", "20.0", "more work takes longer", laws.Implausible, "takes 20.0 ms and does what"},
		{"sound", "relation", "t200 - t50 = 16ms", "statement", laws.Impossible, "needs 15 ms to be equal to 16 ms"},
		{"sound", "relation", "t200 < t50", "statement", laws.Impossible, "to be less than 6 ms, and it isn't"},
		{"sound", "relation", "small.mean < copy", "statement", laws.Implausible, "show no difference"},
	} {
		t.Run(c.law+" "+c.id+"="+c.value, func(t *testing.T) {
			r := parse(t, plant(t, consistent, c.id, c.column, c.value)).Audit()
			i := slices.IndexFunc(r.Findings, func(f Finding) bool {
				return strings.HasPrefix(f.Key, c.law+"/") && f.Grade == c.grade && strings.Contains(f.Text, c.text)
			})
			if i < 0 {
				t.Fatalf("no finding %s by %q with %q in\n%v", c.grade, c.law, c.text, r.Broken())
			}
			if f := r.Findings[i]; !slices.Contains(f.Rows, c.id) && !slices.Contains(f.Rows, "small.mean") || f.Arithmetic == "" {
				t.Errorf("rows %v, arithmetic %q", f.Rows, f.Arithmetic)
			}
		})
	}
}

// plant changes one cell.
func plant(t *testing.T, text, id, column, value string) string {
	t.Helper()
	r := csv.NewReader(strings.NewReader(text))
	r.Comment = '#'
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(all[0], column)
	i := slices.IndexFunc(all, func(row []string) bool { return row[0] == id })
	all[i][at] = value
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.WriteAll(all); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What was worked out from rows that can't be true is named with them.
func TestRests(t *testing.T) {
	r := parse(t, `id,value,unit,run,quantity,statistic,concurrency,relation
x,138.2,per_s,a,throughput,,10,
r,107.56,ms,a,response,mean,10,
half,53.8,ms,,,,,= r / 2
quarter,26.9,ms,,,,,= half / 2
other,1,ms,,,,,
`).Audit()
	f, ok := r.Find("little/N=XR/a")
	if !ok || f.Grade != laws.Impossible || !slices.Equal(f.Rests, []string{"half", "quarter"}) {
		t.Errorf("found %v %v; want half and quarter to rest on it", ok, f)
	}
	if len(r.Used["other"]) > 0 || !slices.Equal(r.Used["half"], []string{"derived"}) {
		t.Errorf("used: %v", r.Used)
	}
}

func TestLikeWithLike(t *testing.T) {
	r := parse(t, `id,value,unit,concurrency,relation
a,100,ms,10,
b,60,ms,5,
c,60,ms,,
gain,-40,percent,,"= change(a, b)"
other,-40,percent,,"= change(a, c)"
`).Audit()
	if len(r.Broken()) != 1 || r.Broken()[0].Key != "like with like/gain" {
		t.Errorf("found %v", r.Broken())
	}
}

// A table that is a rounded copy of another in every row, and one that isn't.
func TestCopies(t *testing.T) {
	const text = `id,value,unit,group,relation
a,22.67,ms,,
b,27.04,ms,,
c,22.7,ms,copy,apart from a
d,27.0,ms,copy,apart from b
`
	if r := parse(t, text).Audit(); len(r.Broken()) != 1 || r.Broken()[0].Key != "apart/copy" {
		t.Errorf("found %v", r.Broken())
	}
	if r := parse(t, plant(t, text, "d", "value", "27.1")).Audit(); len(r.Broken()) != 0 {
		t.Errorf("found %v", r.Broken())
	}
}

// A throughput from a percentile is no throughput.
func TestPercentileInLittle(t *testing.T) {
	r := parse(t, `id,value,unit,quantity,statistic,relation
p,97,ms,response,p95,
m,97,ms,response,mean,
bad,103,per_s,throughput,,= 10 / p
good,103,per_s,throughput,,= 10 / m
`).Audit()
	if len(r.Broken()) != 1 || r.Broken()[0].Key != "Little's law takes a mean/bad" {
		t.Errorf("found %v", r.Broken())
	}
}

// Within keeps a figure from being held to digits that it hasn't got.
func TestWithin(t *testing.T) {
	const text = `id,value,unit,within,relation
a,107.56,ms,,
b,22.45,ms,,
gain,-80,percent,,"= change(a, b)"
`
	if r := parse(t, text).Audit(); len(r.Broken()) != 1 {
		t.Errorf("found %v; want that -79.1 isn't -80", r.Broken())
	}
	if r := parse(t, plant(t, text, "gain", "within", "1")).Audit(); len(r.Broken()) != 0 {
		t.Errorf("found %v", r.Broken())
	}
}

func TestErrors(t *testing.T) {
	const head = "id,value,unit,run,quantity,statistic,n,wait,within,relation\n"
	for _, c := range []struct{ text, want string }{
		{"", "t.csv:1:1: not a table of figures: it is empty; its first line names the columns: id,value,unit"},
		{"id,value\n", `t.csv:1:1: not a table of figures: column "unit" is missing`},
		{"id,value,unit,colour\n", `t.csv:1:15: not a table of figures: no column "colour" is known; there are id, value`},
		{"id,value,unit,id\n", `t.csv:1:15: not a table of figures: column "id" stands there twice`},
		{head, "t.csv: not a table of figures: it has no row"},
		{head + "a,1,ms\n", "t.csv:2:1: not a table of figures: wrong number of fields"},
		{head + "a,\"1,ms,,,,,,,\n", "t.csv:2:16: not a table of figures: extraneous or missing \" in quoted-field"},
		{head + "9a,1,ms,,,,,,,\n", `t.csv:2:1: not a table of figures: id "9a": it begins with a letter`},
		{head + "a-b,1,ms,,,,,,,\n", `t.csv:2:1: not a table of figures: id "a-b"`},
		{head + "change,1,ms,,,,,,,\n", `t.csv:2:1: not a table of figures: id "change" means something`},
		{head + "a,1,ms,,,,,,,\na,2,ms,,,,,,,\n", `t.csv:3:1: not a table of figures: id "a" is that of line 2 already`},
		{head + "a,1e3,ms,,,,,,,\n", `t.csv:2:3: not a table of figures: value "1e3": write it like 46.27 or -33`},
		{head + "a,1..2,ms,,,,,,,\n", `t.csv:2:3: not a table of figures: value "1..2": not a decimal`},
		{head + "a,-1,ms,,,,,,,\n", `t.csv:2:3: not a table of figures: value "-1": a time or a rate isn't negative`},
		{head + "a,1,furlong,,,,,,,\n", `t.csv:2:5: not a table of figures: unit "furlong": choose one of ns, us`},
		{head + "a,,,,,,,,,\n", `t.csv:2:3: not a table of figures: a row has a value, or a relation`},
		{head + "a,,ms,,,,,,,a < a\n", `t.csv:2:4: not a table of figures: a row without a value has no unit`},
		{head + "a,0,per_s,,throughput,,,,,\n", `t.csv:2:3: not a table of figures: nothing follows from a rate that may be 0`},
		{head + "a,1,ms,r,response,p95,,,,\nb,2,ms,r,response,p95,,,,\n", `t.csv:3:8: not a table of figures: run "r" has its p95 response already, in line 2: a`},
		{head + "a,1,ms,,,,none,,,\n", `t.csv:2:11: not a table of figures: n "none": it is a whole number from 1 on`},
		{head + "a,1,ms,,,,,fifty,,\n", `t.csv:2:12: not a table of figures: wait "fifty": write it like 50us`},
		{head + "a,1,ms,,,,,,-1,\n", `t.csv:2:13: not a table of figures: within "-1"`},
		{head + "a,1,ms,,,,,,,= b\n", `t.csv:2:16: not a table of figures: relation: there is no row "b"`},
		{head + "a,1,ms,,,,,,,= a; is b\n", `t.csv:2:19: not a table of figures: relation: want one of same as, part of`},
		{head + "a,1,ms,,,,,,,= (a\n", `t.csv:2:18: not a table of figures: relation: want ")"`},
		{head + "a,1,ms,,,,,,,= a b\n", `t.csv:2:18: not a table of figures: relation: "b" is left over; put ; between relations`},
		{head + "a,1,ms,,,,,,,= 3 +\n", `t.csv:2:19: not a table of figures: relation: want a row's id, a number or a bracket`},
		{head + "a,1,ms,,,,,,,= 3parsec\n", `t.csv:2:16: not a table of figures: relation: unit "parsec"`},
		{head + "a,1,ms,,,,,,,= a + 3\n", `t.csv:2:18: not a table of figures: relation: 1 ms and 3 are of different kinds`},
		{head + "a,1,ms,,,,,,,= 3\n", `t.csv:2:14: not a table of figures: relation: it compares different kinds`},
		{head + "a,1,ms,,,,,,,part of 2 * a\n", `t.csv:2:14: not a table of figures: relation: "part of" takes the id of one row`},
		{head + "a,1,ms,,,,,,,served as 1ms or 2ms\n", "t.csv:2:14: not a table of figures: relation: `served as` stands at a rate"},
		{head + "a,1,per_s,,,,,,,served as 1ms\n", "t.csv:2:30: not a table of figures: relation: want `or`"},
		{head + "a,1,ms,,,,,,,\nb,,,,,,,,,a part of a\n", `t.csv:3:13: not a table of figures: relation: want one of <=, >=, =, <, >`},
		{head + "a,1,ms,,,,,,,= b\nb,,,,,,,,,a < a\n", `t.csv:2:16: not a table of figures: relation: row "b" has no value`},
		{head + "a,1,ms,,,,,,,= " + strings.Repeat("(", 99) + "\n", `t.csv:2:66: not a table of figures: relation: more than 50 brackets`},
	} {
		_, err := Read(Source{"t.csv", strings.NewReader(c.text)})
		if !errors.Is(err, ErrTable) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

// A derived figure that is written with enough digits is accepted, and one that
// is off by a tenth isn't.
func TestDerivedProperty(t *testing.T) {
	property := func(x, y uint16) bool {
		a, b := float64(x)/7+1, float64(y)/7+1
		text := func(factor float64) string {
			return fmt.Sprintf("id,value,unit,relation\na,%.4f,ms,\nb,%.4f,ms,\nc,%.4f,x,= b / a\n", a, b, factor*b/a)
		}
		good, bad := parse(t, text(1)).Audit(), parse(t, text(1.1)).Audit()
		// Four decimals of a small ratio may hide a tenth.
		return len(good.Broken()) == 0 && (len(bad.Broken()) == 1 || b/a < 0.002)
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

// Every finding can be written as JSON, whatever a figure of 0 divides to.
func TestJSON(t *testing.T) {
	r := parse(t, "id,value,unit,relation\na,0,ms,\nb,5.0,ms,same as a\nc,9,ms,<= a\n").Audit()
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"key":"one setting, two answers/b"`) {
		t.Errorf("%s, %v", b, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(consistent)
	f.Add("id,value,unit,relation\na,1,ms,\"= change(a, a); part of a\"\nb,,,a / a <= 2percent\n")
	f.Add("id,value,unit\n\"a\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Read(Source{"t.csv", strings.NewReader(text)})
		if err != nil {
			if !errors.Is(err, ErrTable) || !strings.HasPrefix(err.Error(), "t.csv:") {
				t.Errorf("error %v names no place", err)
			}
			return
		}
		r := table.Audit()
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Error(err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
		for _, x := range r.Findings {
			for _, id := range x.Rows {
				if _, ok := table.Find(id); !ok {
					t.Errorf("%s names row %q, which isn't there", x.Key, id)
				}
			}
		}
	})
}
