package study

import (
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/load"
)

// pace is how long the parts of a trial take.
type pace struct{ ramp, settle, window, down time.Duration }

var (
	virtualPace = pace{20 * time.Second, 20 * time.Second, 60 * time.Second, 5 * time.Second}
	wallPace    = pace{2 * time.Second, 4 * time.Second, 8 * time.Second, 500 * time.Millisecond}
)

// shape is a load over time.
type shape struct {
	users   load.Schedule
	window  load.Window
	perUser int
}

// overload is how many times the users there are before a load comes down.
const overload = 2

// shaped is the load of a trial: up to the users, or down to them from twice as
// many, and a window when that has settled. A trial of so many operations has no
// window: each user makes some requests, and they all count.
func shaped(p pace, plan lab.Plan, users int, down bool) shape {
	if plan.N > 0 {
		n := min(users, plan.N)
		// Users start apart, so that the first one doesn't meet all others.
		ramp := time.Duration(n) * 10 * time.Millisecond
		return shape{
			users:   load.Schedule{{For: ramp, To: float64(n)}, {For: 24 * time.Hour, To: float64(n)}},
			perUser: (plan.N + n - 1) / n,
		}
	}
	var s shape
	n := float64(users)
	if down {
		s.users = load.Schedule{{For: p.ramp, To: overload * n}, {For: p.settle, To: overload * n}, {To: n}}
	} else {
		s.users = load.Schedule{{For: p.ramp, To: n}}
	}
	from := s.users.Length() + p.settle
	window := max(p.window, plan.Min)
	s.users = append(s.users, load.Stage{For: p.settle + window, To: n}, load.Stage{For: p.down})
	s.window = load.Window{From: from, To: from + window}
	return s
}
