package load

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Stage is a part of a [Schedule]: within For, the level goes in a straight line
// from where the stage before ended (0 for the first) to To. A stage with For 0
// is a jump.
type Stage struct {
	For time.Duration
	To  float64 // users, or requests a second
}

// Schedule is a level over time: a number of users or a rate. Its notation, which
// String writes and [ParseSchedule] reads, is "time:level" for each stage:
// "30s:150,5m0s:150,10s:0" goes up to 150 in 30 s, stays for 5 minutes, and goes
// down in 10 s.
type Schedule []Stage

// Hold is a level that is there at once and stays for d.
func Hold(level float64, d time.Duration) Schedule { return Schedule{{0, level}, {d, level}} }

// ParseSchedule reads the notation of [Schedule]. The error wraps [ErrConfig].
func ParseSchedule(text string) (Schedule, error) {
	var s Schedule
	for part := range strings.SplitSeq(text, ",") {
		span, level, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			return nil, fmt.Errorf("load: stage %q of schedule %q: %w: write it as time:level, such as 30s:150", part, text, ErrConfig)
		}
		d, err := time.ParseDuration(span)
		if err != nil {
			return nil, fmt.Errorf("load: stage %q of schedule %q: %w: %q isn't a time such as 30s", part, text, ErrConfig, span)
		}
		v, err := strconv.ParseFloat(level, 64)
		if err != nil {
			return nil, fmt.Errorf("load: stage %q of schedule %q: %w: %q isn't a number", part, text, ErrConfig, level)
		}
		s = append(s, Stage{d, v})
	}
	return s, s.check()
}

// String is in the notation of [ParseSchedule].
func (s Schedule) String() string {
	parts := make([]string, len(s))
	for i, st := range s {
		parts[i] = strings.ReplaceAll(st.For.String(), "µs", "us") + ":" + strconv.FormatFloat(st.To, 'g', -1, 64)
	}
	return strings.Join(parts, ",")
}

// Length is the time of all stages.
func (s Schedule) Length() time.Duration {
	var d time.Duration
	for _, st := range s {
		d += st.For
	}
	return d
}

// Max is the highest level.
func (s Schedule) Max() float64 {
	top := 0.0
	for _, st := range s {
		top = max(top, st.To)
	}
	return top
}

// maxLength keeps times and areas in the range of an int64 of nanoseconds.
const maxLength = 100 * 365 * 24 * time.Hour

func (s Schedule) check() error {
	var length time.Duration
	for _, st := range s {
		if st.For < 0 || st.For > maxLength-length {
			return fmt.Errorf("load: schedule %q: %w: a stage of %v; its time must not be negative, nor all of them a century", s, ErrConfig, st.For)
		}
		length += st.For
		if !(st.To >= 0) || math.IsInf(st.To, 0) {
			return fmt.Errorf("load: schedule %q: %w: a level of %v; it must be finite and not negative", s, ErrConfig, st.To)
		}
	}
	if length == 0 || s.Max() == 0 {
		return fmt.Errorf("load: schedule %q: %w: no time or no load; give a stage such as 30s:150", s, ErrConfig)
	}
	return nil
}

// span is a time during which a user is active: from on to before off.
type span struct{ on, off time.Duration }

// above returns when the schedule is at level or higher.
func (s Schedule) above(level float64) []span {
	var (
		spans []span
		now   time.Duration
		from  float64
		open  = false // the last span has no end yet
	)
	for _, st := range s {
		crossing := now
		if st.To != from && st.For > 0 {
			crossing += time.Duration((level - from) / (st.To - from) * float64(st.For))
		}
		switch {
		case !open && st.To >= level:
			spans, open = append(spans, span{on: crossing}), true
		case open && st.To < level:
			spans[len(spans)-1].off, open = crossing, false
		}
		now += st.For
		from = st.To
	}
	if open {
		spans[len(spans)-1].off = now
	}
	return spans
}

// clock walks along a schedule of rates and tells when so many requests are due.
type clock struct {
	left  Schedule
	from  float64       // the rate at which the first stage of left begins
	start time.Duration // when it begins
	area  float64       // the requests due before it
}

// at is when the integral of the rate reaches n, which must not be less than at
// the call before; false if it never does.
func (c *clock) at(n float64) (time.Duration, bool) {
	for len(c.left) > 0 {
		st := c.left[0]
		seconds := st.For.Seconds()
		if m, area := n-c.area, (c.from+st.To)/2*seconds; m < area {
			// Solves from t + (to-from) t^2 / (2 seconds) = m, in the form that
			// doesn't subtract for either direction of the ramp. The
			// conversions keep all machines to the same digits.
			slope := (st.To - c.from) / seconds
			root := math.Sqrt(max(0, float64(c.from*c.from)+float64(2*slope*m)))
			t := 0.0
			if m > 0 {
				t = 2 * m / (c.from + root)
			}
			return c.start + min(time.Duration(math.Round(t*1e9)), st.For), true
		} else {
			c.area += area
		}
		c.start += st.For
		c.from = st.To
		c.left = c.left[1:]
	}
	return 0, false
}
