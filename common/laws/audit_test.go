package laws

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// find returns the only finding of a grade and law.
func find(t *testing.T, findings []Finding, g Grade, law string) Finding {
	t.Helper()
	var found []Finding
	for _, f := range findings {
		if f.Grade == g && f.Law == law {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d findings %q by %q, want one, in %v", len(found), g, law, findings)
	}
	return found[0]
}

// Rows of published studies and what their audits by hand found.
func TestAudit(t *testing.T) {
	for _, c := range []struct {
		name    string
		figures Figures
		grade   Grade
		law     string
		value   float64 // the middle, within 1 %
		text    string
	}{
		{"pool of 15: in flight", Figures{Users: "150", PerSec: "46.27", Mean: "10ms"}, Must, "N = X R", 0.4627, "0.463 (0.44 to 0.486) requests are in flight"},
		{"pool of 15: think time", Figures{Users: "150", PerSec: "46.27", Mean: "10ms"}, Must, "Z = N/X - R", 3.2318, "every 3.24 s on average, so thinks for 3.23 s"},
		{"pool of 15: utilisation", Figures{PerSec: "46.27", Mean: "10ms", Pool: "15"}, Must, "U <= X R / c", 0.0308, "waiting for it needs bursts"},
		{"pool of 15: users", Figures{Users: "150", PerSec: "46.27", Mean: "10ms", Think: "1.5s"}, Implausible, "N = X (R + Z)", 69.9, "account for 69.9"},
		{"row log: in flight", Figures{PerSec: "24.40", Mean: "1393ms"}, Must, "N = X R", 34.0, "34"},
		{"row log: think time", Figures{Users: "150", PerSec: "24.40", Mean: "1393ms"}, Must, "Z = N/X - R", 4.755, "4.75"},
		{"row log: pool", Figures{PerSec: "24.40", Mean: "1393ms", Pool: "10"}, Must, "X R > c", 24.0, "at least 24 requests"},
		{"row log: other failures", Figures{Success: "0.712", Slow: "20.32%"}, Must, "shares add up", 0.0848, "failed in another way"},
		{"no row log: slow share", Figures{P95: "701ms", Slow: "0.48%", Limit: "500ms"}, Impossible, "percentile", 0.0048, "at least 5 % take longer than 500 ms"},
		{"no row log: hold", Figures{PerSec: "42.56", Mean: "152ms", Pool: "10", Hold: "10ms"}, Must, "U = X S / c", 0.04256, "4.26 %"},
		{"no row log: unexplained", Figures{PerSec: "42.56", Mean: "152ms", Pool: "10", Hold: "10ms"}, Implausible, "M/M/c", 0.142, "neither the hold"},
		{"concurrency 10", Figures{Users: "10", PerSec: "138.2", Mean: "107.56ms"}, Impossible, "N = X R", 14.86, "more than the 10 users"},
		{"one lock", Figures{PerSec: "41.6", Pool: "1", Hold: "43.5ms"}, Impossible, "U = X S / c", 1.81, "can't all hold one"},
		{"one lock, at most", Figures{PerSec: "41.6", Pool: "1"}, Must, "X S / c <= 1", 0.02404, "24 ms"},

		{"users from think time", Figures{PerSec: "46.27", Mean: "10ms", Think: "1.5s"}, Must, "N = X (R + Z)", 69.9, "were active"},
		{"rate", Figures{Users: "150", Mean: "106ms", Think: "1.5s"}, Must, "X = N/(R + Z)", 93.4, "requests a second"},
		{"mean", Figures{Users: "150", PerSec: "46.27", Think: "1.5s"}, Must, "R = N/X - Z", 1.742, "mean response time is 1.74 s"},
		{"cycle", Figures{Users: "150", PerSec: "46.27"}, Must, "N/X = R + Z", 3.2418, "together"},
		{"too fast", Figures{Users: "10", PerSec: "100", Think: "1.0s"}, Impossible, "R = N/X - Z", -0.9, "even if answers took no time"},
		{"too many users", Figures{Users: "10", PerSec: "100", Mean: "10ms", Think: "1.0s"}, Impossible, "N = X (R + Z)", 101, "and there are 10"},
		{"larger pool than users", Figures{Users: "10", Pool: "20"}, Must, "N <= c", 10, "nobody ever waits"},
		{"held for too long", Figures{Pool: "20", Hold: "30ms", Mean: "10ms"}, Implausible, "hold <= R", 0.030, "longer than"},
		{"percentiles fall", Figures{P50: "30ms", P95: "20ms"}, Impossible, "percentiles rise", 0.030, "the p50 of 30 ms"},
		{"mean below its tail", Figures{Mean: "1.0ms", P95: "27ms"}, Impossible, "mean >= sum of shares x percentiles", 0.00135, "1.35 ms"},
		{"mean beyond its tail", Figures{Mean: "60ms", P50: "10ms", Max: "100ms"}, Impossible, "mean <= sum of shares x percentiles", 0.055, "55 ms"},
		{"mean in its bounds", Figures{Mean: "30ms", P50: "10ms", Max: "100ms"}, Must, "mean and percentiles", 0.030, "from 4.75 ms to 55.5 ms"},
		{"mean above a bound", Figures{Mean: "30ms", P50: "10ms"}, Must, "mean >= sum of shares x percentiles", 0.005, "or more"},
		{"too many slow", Figures{P95: "100ms", Slow: "10%", Limit: "500ms"}, Impossible, "percentile", 0.10, "at most 5 %"},
		{"slow, yet none as slow", Figures{Max: "100ms", Slow: "1%", Limit: "500ms"}, Impossible, "percentile", 0.01, "at most 0 %"},
		{"slow make a mean", Figures{Mean: "10ms", Slow: "20.0%", Limit: "500ms"}, Impossible, "Markov's inequality", 0.1, "100 ms"},
		{"slow successes", Figures{Success: "0.98", Slow: "20.0%"}, Must, "shares add up", 0.18, "success doesn't mean fast"},
	} {
		t.Run(c.name, func(t *testing.T) {
			findings, err := Audit(c.figures)
			if err != nil {
				t.Fatal(err)
			}
			f := find(t, findings, c.grade, c.law)
			if math.Abs(f.Value.Mid()-c.value) > 0.01*math.Abs(c.value) {
				t.Errorf("value %v, want %v", f.Value, c.value)
			}
			if !strings.Contains(f.Text, c.text) {
				t.Errorf("text %q doesn't say %q", f.Text, c.text)
			}
			if f.Grade == Implausible && f.Assumes == "" {
				t.Errorf("implausible without the assumption: %v", f)
			}
		})
	}
}

// Figures of a real closed system, rounded as one publishes them, give no
// contradiction.
func TestAuditAcceptsWhatIsTrue(t *testing.T) {
	for _, pool := range []int{5, 10, 15, 30} {
		p, err := Closed{150, 1.5, []Station{{"pool", 0.106, pool}}}.Solve()
		if err != nil {
			t.Fatal(err)
		}
		figures := Figures{
			Users: "150", Think: "1.500s", PerSec: strings.TrimSpace(digits(p.PerSec)), Mean: strings.TrimSpace(digits(p.Response*1000)) + "ms",
			Pool: map[int]string{5: "5", 10: "10", 15: "15", 30: "30"}[pool],
		}
		findings, err := Audit(figures)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if f.Grade != Must {
				t.Errorf("pool of %d: %v", pool, f)
			}
		}
		near(t, "in flight", findings[0].Value.Mid(), p.Stations[0].InFlight, 0.01)
	}
}

func TestAuditRefuses(t *testing.T) {
	for _, f := range []Figures{{}, {Users: "150"}, {Mean: "10ms"}, {Think: "0"}, {Slow: "5%"}} {
		if _, err := Audit(f); !errors.Is(err, ErrTooFew) {
			t.Errorf("%+v: got %v", f, err)
		}
	}
	_, err := Audit(Figures{Users: "1.5", PerSec: "0", Mean: "10", Slow: "120%"})
	if !errors.Is(err, ErrArgument) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{`users "1.5": `, `requests a second "0": `, `mean "10": a time needs a unit`, `slow share "120%": `} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error doesn't say %q: %v", want, err)
		}
	}
	if _, err := Audit(Figures{PerSec: "10", Mean: "ten"}); err == nil || err.Error() != `audit: mean "ten": write it like "10ms" or "1.5s"` {
		t.Errorf("got %v; want one clean sentence", err)
	}
	if _, err := ParseTime("ten"); err == nil || err.Error() != `laws: figure "ten": write it like "10ms" or "1.5s"` {
		t.Errorf("got %v; want one clean sentence", err)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text   string
		time   bool
		lo, hi float64
	}{
		{"46.27", false, 46.265, 46.275},
		{"24.40", false, 24.395, 24.405},
		{"20.32%", false, 0.20315, 0.20325},
		{"0", false, 0, 0.5},
		{"7", false, 6.5, 7.5},
		{" 7. ", false, 6.5, 7.5},
		{"10ms", true, 0.0095, 0.0105},
		{"1.5s", true, 1.45, 1.55},
		{"0", true, 0, 0},
		{"2min", true, 90, 150},
		{"250 us", true, 0.0002495, 0.0002505},
		{"250µs", true, 0.0002495, 0.0002505},
		{"1h", true, 1800, 5400},
		{"5ns", true, 4.5e-9, 5.5e-9},
	} {
		got, err := parseFigure(c.text, c.time)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		near(t, c.text, got.Lo, c.lo, 1e-12)
		near(t, c.text, got.Hi, c.hi, 1e-12)
	}
	for _, text := range []string{"", "ms", "1e3", "-1", "0x1", "1.2.3", "ten", "1,000", "10%%", "+1", "Inf"} {
		if got, err := ParseNumber(text); !errors.Is(err, ErrArgument) {
			t.Errorf("number %q: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "10", "10%", "1m30s", "-1s", "s"} {
		if got, err := ParseTime(text); !errors.Is(err, ErrArgument) {
			t.Errorf("time %q: got %v, %v", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"46.27", "20.32%", "10ms", "1.5 s", "0", "µs", ".", "..", "99999999999999999999999h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, isTime := range []bool{false, true} {
			v, err := parseFigure(s, isTime)
			if err != nil {
				if !errors.Is(err, ErrArgument) {
					t.Errorf("%q: %v doesn't wrap ErrArgument", s, err)
				}
				continue
			}
			if !(0 <= v.Lo && v.Lo <= v.Hi) || math.IsInf(v.Hi, 0) {
				t.Errorf("%q: %v to %v", s, v.Lo, v.Hi)
			}
		}
	})
}
