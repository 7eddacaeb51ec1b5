package sim

import "fmt"

// gauge counts those who are at one place. It keeps two accounts of the same
// thing: the area under their number over time, and the time that each of them
// spent. Little's law says that they agree.
type gauge struct {
	n     int
	limit int    // as many as this are busy at most; 0: no limit
	most  int    // in the window
	left  uint64 // in the window

	last  int64 // when area and busy were brought up to date
	area  int64 // sum of n over time
	busy  int64 // sum of min(n, limit) over time
	spent int64 // time in the window of those who left
	here  int64 // sum of the times of entry, or of the window's start, of those here
}

func (g *gauge) advance(now int64) {
	d := now - g.last
	g.last = now
	g.area += d * int64(g.n)
	if g.limit > 0 && g.n > g.limit {
		g.busy += d * int64(g.limit)
	} else {
		g.busy += d * int64(g.n)
	}
}

func (g *gauge) enter(now int64) {
	g.advance(now)
	g.n++
	g.most = max(g.most, g.n)
	g.here += now
}

// leave takes out one that came at entered. from is the start of the window.
func (g *gauge) leave(now, entered, from int64) {
	g.advance(now)
	g.n--
	g.left++
	entered = max(entered, from)
	g.here -= entered
	g.spent += now - entered
}

// forget starts a window.
func (g *gauge) forget(now int64) {
	*g = gauge{n: g.n, limit: g.limit, most: g.n, last: now, here: int64(g.n) * now}
}

// little tells whether the two accounts agree, to the nanosecond.
func (g *gauge) little(now int64) error {
	g.advance(now)
	spent := g.spent + int64(g.n)*now - g.here
	if g.n < 0 || g.area != spent {
		return fmt.Errorf("%d there, %d ns by their number, %d ns by their times", g.n, g.area, spent)
	}
	return nil
}

// station is what resources have in common: those who wait, and those who are
// served or hold it.
type station struct {
	sim     *Sim
	kind    string
	name    string
	servers int // 0: any number at once
	queue   gauge
	held    gauge
	refused uint64
	gaveUp  uint64
	final   Usage // once the run has ended
}

// stationed is a resource: a type that embeds a station.
type stationed interface {
	base() *station
	forget()
	little() error
}

func (st *station) base() *station { return st }

// open makes st a station of s.
func (st *station) open(s *Sim, kind, name string, servers int, self stationed) {
	if s.ran {
		panic(fmt.Sprintf("sim: %s %s made after Run began; make all resources before", kind, name))
	}
	*st = station{sim: s, kind: kind, name: name, servers: servers}
	st.held.limit = servers
	s.stations = append(s.stations, self)
}

func (st *station) String() string { return st.kind + " " + st.name }

// pass counts one who didn't have to wait.
func (st *station) pass() { st.queue.left++ }

func (st *station) startWait() { st.queue.enter(st.sim.now) }

func (st *station) endWait(since int64) { st.queue.leave(st.sim.now, since, st.sim.from) }

func (st *station) startHold() int64 {
	st.held.enter(st.sim.now)
	return st.sim.now
}

func (st *station) endHold(since int64) { st.held.leave(st.sim.now, since, st.sim.from) }

func (st *station) forget() {
	st.queue.forget(st.sim.now)
	st.held.forget(st.sim.now)
	st.refused, st.gaveUp = 0, 0
}

func (st *station) little() error {
	if err := st.queue.little(st.sim.now); err != nil {
		return fmt.Errorf("sim: waiting for %v at %v: %w: Little's law fails: %w", st, st.sim.Now(), ErrInvariant, err)
	}
	if err := st.held.little(st.sim.now); err != nil {
		return fmt.Errorf("sim: %v at %v: %w: Little's law fails: %w", st, st.sim.Now(), ErrInvariant, err)
	}
	return nil
}
