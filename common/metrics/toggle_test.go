package metrics

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// arm is a Choice.
type arm map[string]string

func (a arm) Level(name string) (string, bool) {
	l, ok := a[name]
	return l, ok
}

type strategy int

func (s strategy) String() string { return [...]string{"sequential", "pool", "batch"}[s] }

func TestToggle(t *testing.T) {
	tg := NewToggle("strategy", strategy(0), 1, 2).Simulates("the device", 2)
	if tg.Name() != "strategy" || tg.Len() != 3 || tg.Baseline() != 0 || tg.Label(1) != "pool" {
		t.Errorf("got %s, %d, %v, %s", tg.Name(), tg.Len(), tg.Baseline(), tg.Label(1))
	}
	if tg.SimulatedBy(0) != "" || tg.SimulatedBy(2) != "the device" {
		t.Errorf("simulated: %q and %q", tg.SimulatedBy(0), tg.SimulatedBy(2))
	}
	levels := tg.Levels()
	levels[0] = 2
	if !slices.Equal(tg.Levels(), []strategy{0, 1, 2}) {
		t.Error("Levels isn't a copy")
	}
	if v, err := tg.Parse("batch"); v != 2 || err != nil {
		t.Errorf("Parse(batch) = %v, %v", v, err)
	}
	_, err := tg.Parse("fanout")
	if !errors.Is(err, ErrLevel) || !strings.Contains(err.Error(), `"fanout"; the levels are sequential, pool, batch`) {
		t.Errorf("error %v", err)
	}
}

func TestToggleLabels(t *testing.T) {
	d := NewToggle("latency", 0, 50*time.Microsecond, 1500*time.Nanosecond, 2*time.Millisecond, time.Minute)
	for i, want := range []string{"0s", "50us", "1.5us", "2ms", "1m0s"} {
		if got := d.Label(i); got != want {
			t.Errorf("label %d is %q, want %q", i, got, want)
		}
		if v, err := d.Parse(want); err != nil || v != d.Levels()[i] {
			t.Errorf("Parse(%s) = %v, %v", want, v, err)
		}
	}
	if got := NewToggle("batched", false, true).Label(1); got != "true" {
		t.Errorf("label %q", got)
	}
	if got := NewToggle("any", any(1), any("one"), any(1.5)).Label(2); got != "1.5" {
		t.Errorf("label %q", got)
	}
}

func TestTogglePanics(t *testing.T) {
	for _, tt := range []struct {
		name string
		want string
		f    func()
	}{
		{"no level", "has no level", func() { NewToggle[int]("x") }},
		{"one label twice", `two levels have the label "1"`, func() { NewToggle("x", any(1), any("1")) }},
		{"no name", "is empty", func() { NewToggle("", 1) }},
		{"name with space", "holds ' '", func() { NewToggle("a b", 1) }},
		{"no label", "is empty", func() { NewToggle("x", "") }},
		{"label with slash", "holds '/'", func() { NewToggle("x", "a", "b/c") }},
		{"label with equals", "holds '='", func() { NewToggle("x", "a=b") }},
		{"label not ASCII", "holds 'µ'", func() { NewToggle("x", "5µ") }},
		{"label with a newline", `holds '\n'`, func() { NewToggle("x", "a\n") }},
		{"simulates what", "doesn't say what", func() { NewToggle("x", 1).Simulates("", 1) }},
		{"simulates no level", `"2" simulates a disk but isn't a level; the levels are 1`, func() { NewToggle("x", 1).Simulates("a disk", 2) }},
		{"an arm of another toggle", `no such level "9"`, func() { NewToggle("x", 1).Of(arm{"x": "9"}) }},
	} {
		t.Run(tt.name, func(t *testing.T) { mustPanic(t, tt.want, tt.f) })
	}
}

func TestToggleOf(t *testing.T) {
	tg := NewToggle("keys", 1, 10, 100)
	for _, tt := range []struct {
		c    Choice
		want int
	}{
		{nil, 1}, {arm{}, 1}, {arm{"payload": "10"}, 1}, {arm{"keys": "100"}, 100},
	} {
		if got := tg.Of(tt.c); got != tt.want {
			t.Errorf("Of(%v) = %d, want %d", tt.c, got, tt.want)
		}
	}
}

func TestToggleResolve(t *testing.T) {
	tg := NewToggle("queue-depth", 1, 2, 4, 8)
	option := func(v int) *int { return &v }
	for _, tt := range []struct {
		name   string
		arm    Choice
		option *int
		env    string
		want   int
		err    string
	}{
		{"baseline", nil, nil, "", 1, ""},
		{"environment", nil, nil, "2", 2, ""},
		{"option over environment", nil, option(4), "2", 4, ""},
		{"option that is no level", nil, option(3), "", 3, ""},
		{"option over a bad environment", nil, option(4), "no", 4, ""},
		{"arm over all", arm{"queue-depth": "8"}, option(4), "2", 8, ""},
		{"arm of other toggles", arm{"keys": "8"}, nil, "2", 2, ""},
		{"bad environment", nil, nil, "3", 0, `environment variable LATLAB_QUEUE_DEPTH: metrics: toggle queue-depth: no such level "3"; the levels are 1, 2, 4, 8`},
		{"bad arm", arm{"queue-depth": "3"}, option(4), "2", 0, `toggle queue-depth: no such level "3"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("LATLAB_QUEUE_DEPTH", tt.env)
			got, err := tg.Resolve(tt.arm, tt.option)
			if tt.err != "" {
				if !errors.Is(err, ErrLevel) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				return
			}
			if got != tt.want || err != nil {
				t.Errorf("got %d, %v; want %d", got, err, tt.want)
			}
		})
	}
}
