package sim

import "fmt"

// Group is a set of processes that somebody waits for.
type Group struct {
	sim     *Sim
	name    string
	live    int
	waiters fifo[*Proc]
}

// Group makes an empty group.
func (s *Sim) Group(name string) *Group { return &Group{sim: s, name: name} }

// Go starts a process of the group, as [Sim.Go] does.
func (g *Group) Go(body func(*Proc)) {
	g.live++
	p := g.sim.spawn(g.name, func(p *Proc) {
		body(p)
		if g.live--; g.live == 0 {
			for g.waiters.n > 0 {
				g.sim.wake(g.waiters.pop())
			}
		}
	})
	p.group = g
}

// Wait waits until none of the group's processes is left.
func (g *Group) Wait(p *Proc) {
	if g.live > 0 {
		g.waiters.push(p)
		p.waitAt(g)
	}
}

// String names the group, with its state.
func (g *Group) String() string { return fmt.Sprintf("group %s (%d left)", g.name, g.live) }

func (g *Group) holders() (procs []*Proc, all bool) {
	for _, p := range g.sim.procs {
		if p.body != nil && p.group == g {
			procs = append(procs, p)
		}
	}
	return procs, true
}

// Signal is something that happens once: a result that others wait for.
type Signal struct {
	sim     *Sim
	name    string
	set     bool
	waiters fifo[*Proc]
}

// Signal makes a signal that wasn't given yet.
func (s *Sim) Signal(name string) *Signal { return &Signal{sim: s, name: name} }

// Give lets all go on who wait, in the order in which they came. Who comes later
// doesn't wait.
func (g *Signal) Give() {
	g.set = true
	for g.waiters.n > 0 {
		g.sim.wake(g.waiters.pop())
	}
}

// Given tells whether it was given.
func (g *Signal) Given() bool { return g.set }

// Wait waits until the signal is given.
func (g *Signal) Wait(p *Proc) {
	if !g.set {
		g.waiters.push(p)
		p.waitAt(g)
	}
}

// String names the signal.
func (g *Signal) String() string { return "signal " + g.name }

func (g *Signal) holders() ([]*Proc, bool) { return nil, false }
