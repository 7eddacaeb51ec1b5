package audit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"latlab.example/common/laws"
)

// What a figure is of: the values of column quantity that laws know. Any other
// text is kept and says nothing to a law.
const (
	Response   = "response"   // time from a request to its answer
	Throughput = "throughput" // finished requests a second, of all users
	Part       = "part"       // a stage's share of a response
	Hold       = "hold"       // time for which a request keeps one of the servers
	Think      = "think"      // time of a user between an answer and the next request
	Work       = "time"       // time of an operation of n units of work on a device of latency wait
	Slow       = "slow"       // share of requests that took the limit or longer
	SlowCount  = "slow count" // their number
	Limit      = "limit"      // response time from which a request is slow
	Success    = "success"    // share of requests that succeeded
	Users      = "users"      // virtual users
)

// Figure is one row of a table: a published number, or a published statement if
// it has no value.
type Figure struct {
	ID, Case, Source, Setting, Arm, Metric string

	Text  string        // the value as written; empty for a statement
	Unit  string        // as written
	Value laws.Interval // in seconds, a share or a count, with its rounding
	dim   int           // of seconds: 1 a time, -1 a rate, 0 neither

	Runs        []string // the steady states that the figure is of
	Quantity    string   // what it is of; see Response and its like
	Statistic   string   // mean, p50, p99, max, count, ...
	Concurrency int      // users who wait for an answer each; 0 unknown
	Servers     int      // that requests share: connections, cores, one lock; 0 unknown
	Groups      []string // series of figures that differ in one thing
	N           int      // units of work in an operation; 0 unknown
	Wait        *float64 // stated latency of the device in seconds; nil unknown
	Assumes     string   // what would explain a broken relation
	Line        int      // in its file

	relations []relation
}

// Statement says that the figure has no value, but a relation in words.
func (f *Figure) Statement() bool { return f.Text == "" }

// String is the value with its unit: "107.56 ms", "138.2/s", "-33 %".
func (f *Figure) String() string {
	switch f.Unit {
	case "per_s":
		return f.Text + "/s"
	case "percent":
		return f.Text + " %"
	case "x":
		return f.Text + "x"
	case "ratio", "count", "version", "":
		return f.Text
	}
	return f.Text + " " + f.Unit
}

// share is the statistic as a share of requests: 0.95 for p95, 1 for max.
func (f *Figure) share() (float64, bool) {
	if f.Statistic == "max" {
		return 1, true
	}
	digits, ok := strings.CutPrefix(f.Statistic, "p")
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(v > 0 && v < 100) {
		return 0, false
	}
	return v / 100, true
}

type unit struct {
	name   string
	factor float64
	dim    int
	whole  bool // figures without a point aren't rounded
}

// units are what a table may use. Sizes and lengths keep their own scale.
var units = []unit{
	{"ns", 1e-9, 1, false},
	{"us", 1e-6, 1, false},
	{"ms", 1e-3, 1, false},
	{"s", 1, 1, false},
	{"min", 60, 1, false},
	{"h", 3600, 1, false},
	{"per_s", 1, -1, false},
	{"percent", 1e-2, 0, false},
	{"ratio", 1, 0, false},
	{"x", 1, 0, false},
	{"count", 1, 0, true},
	{"rows", 1, 0, true},
	{"B", 1, 0, true},
	{"KB", 1, 0, false},
	{"KiB", 1, 0, false},
	{"MB", 1, 0, false},
	{"MiB", 1, 0, false},
	{"km", 1, 0, false},
	{"m", 1, 0, false},
	{"version", 1, 0, true},
}

func findUnit(name string) (unit, error) {
	i := slices.IndexFunc(units, func(u unit) bool { return u.name == name })
	if i < 0 {
		var names []string
		for _, u := range units {
			names = append(names, u.name)
		}
		return unit{}, fmt.Errorf("unit %q: choose one of %s", name, strings.Join(names, ", "))
	}
	return units[i], nil
}

// parseValue reads a figure as written. What was rounded may be off by half a
// unit of its last digit.
func parseValue(text string, u unit) (laws.Interval, error) {
	v, half, err := parseDecimal(text)
	if err != nil {
		return laws.Interval{}, err
	}
	if u.whole && !strings.Contains(text, ".") {
		half = 0
	}
	i := laws.Interval{Lo: (v - half) * u.factor, Hi: (v + half) * u.factor}
	if u.dim != 0 {
		if v < 0 {
			return laws.Interval{}, fmt.Errorf("value %q: a time or a rate isn't negative", text)
		}
		i.Lo = max(i.Lo, 0)
	}
	return i, nil
}

// parseDecimal gives the number and half a unit of its last digit.
func parseDecimal(text string) (v, half float64, err error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	// ParseFloat takes more than figures are written in: exponents, hex, names.
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, 0, fmt.Errorf("value %q: write it like 46.27 or -33", text)
	}
	v, err = strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(v) > 1e15 {
		return 0, 0, fmt.Errorf("value %q: not a decimal number of a sensible size", text)
	}
	decimals := 0
	if dot := strings.IndexByte(digits, '.'); dot >= 0 {
		decimals = len(digits) - dot - 1
	}
	return v, 0.5 * math.Pow10(-decimals), nil
}

// show writes a computed quantity of that dimension.
func show(i laws.Interval, dim int) string {
	switch dim {
	case 1:
		unit, factor := "s", 1.0
		switch m := max(math.Abs(i.Lo), math.Abs(i.Hi)); {
		case m > 0 && m < 1e-9:
			return "under 1 ns"
		case m < 1e-6:
			unit, factor = "ns", 1e9
		case m < 1e-3:
			unit, factor = "us", 1e6
		case m < 1:
			unit, factor = "ms", 1e3
		}
		return short(i.Mul(laws.Exact(factor))) + " " + unit
	case -1:
		return short(i) + "/s"
	}
	return short(i)
}

// percent writes a share.
func percent(i laws.Interval) string { return short(i.Mul(laws.Exact(100))) + " %" }

// short is the middle with three digits: the bounds are in Finding.Value.
func short(i laws.Interval) string {
	v := i.Mid()
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
