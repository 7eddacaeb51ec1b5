package sim

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Usage is what a resource did in the window: from the end of the warm-up to the
// end of the run, or to now.
type Usage struct {
	Kind, Name string
	Servers    int           // cores, permits, channels; 0 for any number
	Window     time.Duration // how long it was measured
	Ended      uint64        // how many had it and are through
	Refused    uint64        // how many were turned away at once
	GaveUp     uint64        // how many waited and lost patience
	MostWaited int           // how many waited at once, at most

	queue, held gauge
}

// Usage is what the resource did so far, or in the whole window after the run.
func (st *station) Usage() Usage {
	if st.sim.ended {
		return st.final
	}
	st.queue.advance(st.sim.now)
	st.held.advance(st.sim.now)
	return Usage{
		Kind: st.kind, Name: st.name, Servers: st.servers,
		Window:     time.Duration(st.sim.now - st.sim.from),
		Ended:      st.held.left,
		Refused:    st.refused,
		GaveUp:     st.gaveUp,
		MostWaited: st.queue.most,
		queue:      st.queue, held: st.held,
	}
}

// Wait is the mean time from asking for the resource until having it, of those
// whose wait ended in the window (who gave up included); a wait that began before counts
// from the start of the window.
func (u Usage) Wait() time.Duration { return each(u.queue) }

// Hold is the same for the time from having it until being through.
func (u Usage) Hold() time.Duration { return each(u.held) }

// Waiting is the mean number of those who waited.
func (u Usage) Waiting() float64 { return mean(u.queue.area, int64(u.Window)) }

// Inside is the mean number of those who had it. On a shared CPU it may be more
// than the cores.
func (u Usage) Inside() float64 { return mean(u.held.area, int64(u.Window)) }

// Utilisation is the mean share of the servers that were busy, from 0 to 1; 0
// if there is any number of them.
func (u Usage) Utilisation() float64 {
	return mean(u.held.busy, int64(u.Window)*int64(u.Servers))
}

func each(g gauge) time.Duration {
	if g.left == 0 {
		return 0
	}
	return time.Duration(g.spent / int64(g.left))
}

func mean(area, span int64) float64 {
	if span <= 0 {
		return 0
	}
	return float64(area) / float64(span)
}

// Usages are those of all resources, in the order in which they were made.
func (s *Sim) Usages() []Usage {
	all := make([]Usage, len(s.stations))
	for i, st := range s.stations {
		all[i] = st.base().Usage()
	}
	return all
}

// WriteUsage writes a table with a row a resource. It returns the error of w.
func WriteUsage(w io.Writer, usages []Usage) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "resource\tservers\tdone\twait\thold\twaiting\tinside\tutilisation\t\n")
	for _, u := range usages {
		servers, busy := fmt.Sprint(u.Servers), fmt.Sprintf("%.3f", u.Utilisation())
		if u.Servers == 0 {
			servers, busy = "any", "-"
		}
		fmt.Fprintf(t, "%s %s\t%s\t%d\t%v\t%v\t%.3f\t%.3f\t%s\t\n", u.Kind, u.Name, servers, u.Ended,
			u.Wait().Round(time.Microsecond), u.Hold().Round(time.Microsecond), u.Waiting(), u.Inside(), busy)
	}
	return t.Flush()
}
