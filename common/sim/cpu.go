package sim

import (
	"fmt"
	"time"
)

// CPU is a number of cores that processes use. See [Sim.SharedCPU] and
// [Sim.QueuedCPU] for the two ways in which they are given out.
type CPU struct {
	station
	sched scheduler
}

// A scheduler gives the cores out. A process has its work in p.job.
type scheduler interface {
	// start has p woken when its work is done, and end lets go of it then.
	start(p *Proc)
	end(p *Proc)
	// cut makes p end at its next check, if it is at work.
	cut(p *Proc)
}

// A job is what a process has to do at a CPU.
type job struct {
	work  int64 // nanoseconds of one core
	check int64 // after each so many the process looks whether it shall stop; 0: never
	cut   bool  // it shall

	since int64 // when it got a core, or its share of them
	on    bool  // it has

	// For a shared CPU: what progress was when it began, and what it is at the end.
	start, end uint64
	seq        uint64 // order among those that end together
	index      int    // in the heap
}

// nextCheck is the work done at the first check after done, at most all of it.
func (j *job) nextCheck(done int64) int64 { return min(j.work, (done/j.check+1)*j.check) }

// longest is the most work that one call may ask for: what the fixed point of a
// shared CPU holds.
const longest = 1<<43 - 1

func (s *Sim) cpu(name string, cores int, sched func(*CPU) scheduler) *CPU {
	if cores < 1 {
		panic(fmt.Sprintf("sim: CPU %s with %d cores; it needs one", name, cores))
	}
	c := &CPU{}
	c.open(s, "cpu", name, cores, c)
	c.sched = sched(c)
	return c
}

// Use takes so much time of one core and returns when it has got it. It panics
// if that is more than two hours.
func (c *CPU) Use(p *Proc, work time.Duration) { c.use(p, int64(work), 0) }

// use is the work done: less than asked for only if it was cut short at a check.
func (c *CPU) use(p *Proc, work, check int64) int64 {
	if work <= 0 {
		return 0
	}
	if work > longest {
		panic(fmt.Sprintf("sim: %v asks CPU %s for %v at once; at most %v", p, c.name, time.Duration(work), time.Duration(longest)))
	}
	p.job = job{work: work, check: check}
	c.sched.start(p)
	p.waitAt(c)
	c.sched.end(p)
	return p.job.work
}

// cut makes p, which has checks, end its use at the next of them.
func (c *CPU) cut(p *Proc) {
	if p.job.check > 0 && !p.job.cut {
		p.job.cut = true
		c.sched.cut(p)
	}
}

func (c *CPU) holders() ([]*Proc, bool) { return nil, false }
