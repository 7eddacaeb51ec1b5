package sim

// queued gives a core to one process after another, each until it is done.
type queued struct {
	*CPU
	free    int
	waiters fifo[waiter]
}

// waiter is a process that waits since some time.
type waiter struct {
	p     *Proc
	since int64
}

// QueuedCPU makes a CPU whose processes wait for a core in the order in which
// they came (first in, first out), and keep it until they are done.
func (s *Sim) QueuedCPU(name string, cores int) *CPU {
	return s.cpu(name, cores, func(c *CPU) scheduler { return &queued{CPU: c, free: cores} })
}

func (q *queued) start(p *Proc) {
	if q.free == 0 {
		q.startWait()
		q.waiters.push(waiter{p, q.sim.now})
		return
	}
	q.free--
	q.pass()
	q.begin(p)
}

func (q *queued) begin(p *Proc) {
	j := &p.job
	j.on, j.since = true, q.startHold()
	if j.cut {
		j.work = j.nextCheck(0)
	}
	q.sim.after(&p.task, j.work)
}

func (q *queued) end(p *Proc) {
	q.endHold(p.job.since)
	if q.waiters.n == 0 {
		q.free++
		return
	}
	next := q.waiters.pop()
	q.endWait(next.since)
	q.begin(next.p)
}

func (q *queued) cut(p *Proc) {
	if j := &p.job; j.on {
		done := q.sim.now - j.since
		j.work = j.nextCheck(done)
		q.sim.after(&p.task, j.work-done)
	}
}
