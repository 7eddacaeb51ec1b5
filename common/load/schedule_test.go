package load_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"testing/quick"
	"time"

	"latlab.example/common/load"
)

func TestEvenArrivals(t *testing.T) {
	due := slices.Collect(load.Even(load.Hold(1000, 5*time.Second)).Due(0))
	if len(due) != 5000 {
		t.Fatalf("%d arrivals, want 5000", len(due))
	}
	for i, d := range due {
		if d != time.Duration(i)*time.Millisecond {
			t.Fatalf("arrival %d is due at %v", i, d)
		}
	}
}

// Along a ramp from 0 to r in T, n arrivals are due by T sqrt(2n/(r T)).
func TestRampOfArrivals(t *testing.T) {
	due := slices.Collect(load.Even(load.Schedule{{10 * time.Second, 100}, {10 * time.Second, 0}}).Due(0))
	if len(due) != 1000 {
		t.Fatalf("%d arrivals, want 1000", len(due))
	}
	for n := range 500 {
		want := 10 * math.Sqrt(2*float64(n)/1000)
		if got := due[n].Seconds(); math.Abs(got-want) > 1e-8 {
			t.Errorf("arrival %d is due at %v s, want %v", n, got, want)
		}
		// Down again, mirrored.
		if n > 0 {
			if got := due[1000-n].Seconds(); math.Abs(got-(20-want)) > 1e-7 {
				t.Errorf("arrival %d is due at %v s, want %v", 1000-n, got, 20-want)
			}
		}
	}
}

// The gaps of a Poisson process: mean and deviation are 1/rate, and the next one
// doesn't depend on the last.
func TestPoissonArrivals(t *testing.T) {
	const rate = 1000
	p := load.Poisson(load.Hold(rate, 100*time.Second))
	due := slices.Collect(p.Due(1))
	if n := len(due); math.Abs(float64(n)-100*rate) > 4*math.Sqrt(100*rate) {
		t.Errorf("%d arrivals", n)
	}
	var sum, squares, lagged float64
	for i := 2; i < len(due); i++ {
		gap, last := (due[i]-due[i-1]).Seconds()*rate, (due[i-1]-due[i-2]).Seconds()*rate
		sum += gap
		squares += gap * gap
		lagged += (gap - 1) * (last - 1)
	}
	n := float64(len(due) - 2)
	if mean := sum / n; math.Abs(mean-1) > 0.015 {
		t.Errorf("mean gap %v / rate", mean)
	}
	if v := squares/n - sum/n*sum/n; math.Abs(v-1) > 0.03 {
		t.Errorf("variance of gaps %v / rate^2", v)
	}
	if c := lagged / n; math.Abs(c) > 0.015 {
		t.Errorf("correlation of gaps %v", c)
	}
	if !slices.Equal(due, slices.Collect(p.Due(1))) || slices.Equal(due, slices.Collect(p.Due(2))) {
		t.Error("the seed alone must decide")
	}
}

// Any schedule: arrivals rise, lie within it, and are as many as its area.
func TestArrivalsFollowTheSchedule(t *testing.T) {
	property := func(times, levels [4]uint16) bool {
		var s load.Schedule
		area, from := 0.0, 0.0
		for i := range times {
			st := load.Stage{For: time.Duration(times[i]%5000) * time.Millisecond, To: float64(levels[i] % 200)}
			s = append(s, st)
			area += (from + st.To) / 2 * st.For.Seconds()
			from = st.To
		}
		n, last := 0, time.Duration(0)
		for d := range load.Even(s).Due(0) {
			if d < last || d > s.Length() {
				return false
			}
			last = d
			n++
		}
		return math.Abs(float64(n)-area) <= 1+1e-6
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestParseSchedule(t *testing.T) {
	s, err := load.ParseSchedule("30s:150, 5m:150,10s:0,250ms:0.5")
	if err != nil {
		t.Fatal(err)
	}
	want := load.Schedule{{30 * time.Second, 150}, {5 * time.Minute, 150}, {10 * time.Second, 0}, {250 * time.Millisecond, 0.5}}
	if !slices.Equal(s, want) {
		t.Errorf("got %v, want %v", s, want)
	}
	if got := s.String(); got != "30s:150,5m0s:150,10s:0,250ms:0.5" {
		t.Errorf("it prints as %q", got)
	}
	for _, text := range []string{"", "30s", "30:150", "30s:many", "-1s:5", "1s:-5", "1s:NaN", "0s:5", "1s:5,", "999999h:1,999999h:1"} {
		if _, err := load.ParseSchedule(text); !errors.Is(err, load.ErrConfig) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	for _, s := range []string{"30s:150,5m0s:150,10s:0", "1us:1e9", "0s:1,1s:1", ",", "1s:0x1p4", "1s:1_0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := load.ParseSchedule(text)
		if err != nil {
			if !errors.Is(err, load.ErrConfig) {
				t.Errorf("%q: %v doesn't wrap ErrConfig", text, err)
			}
			return
		}
		again, err := load.ParseSchedule(s.String())
		if err != nil || !slices.Equal(again, s) {
			t.Errorf("%q prints as %q, which reads as %v, %v", text, s, again, err)
		}
		n, last := 0, time.Duration(0)
		for d := range load.Poisson(s).Due(1) {
			if d < last || d > s.Length() {
				t.Fatalf("%q: an arrival at %v after one at %v", text, d, last)
			}
			last = d
			if n++; n == 1000 {
				break
			}
		}
	})
}
