package sim

import (
	"container/heap"
	"math/bits"
)

// shared gives all processes an equal part of all cores.
//
// Progress is what each process that was there all the time got, in parts of
// 2^-pointBits ns. It is a clock that wraps: only differences have a meaning.
type shared struct {
	*CPU
	jobs     jobs // the first to end first
	at       int64
	progress uint64 // at that time
	timer    task
	rings    int64 // when the timer is due
	seq      uint64
}

const pointBits = 20

// SharedCPU makes a CPU whose cores are shared by all processes alike (processor
// sharing): of n on c cores each goes on at min(1, c/n) of its speed alone. That is what a fair
// scheduler tends to as its time slice goes to zero; there is no queue and no
// cost for switching. A process ends at the first whole nanosecond at which its
// work is done. Each arrival or end rounds the others' progress by less than
// 2^-20 ns.
func (s *Sim) SharedCPU(name string, cores int) *CPU {
	return s.cpu(name, cores, func(c *CPU) scheduler {
		f := &shared{CPU: c}
		f.timer.run = f.ring
		return f
	})
}

func (f *shared) start(p *Proc) {
	f.advance()
	f.pass()
	j := &p.job
	f.seq++
	j.on, j.since, j.seq = true, f.startHold(), f.seq
	j.start, j.end = f.progress, f.progress+uint64(j.work)<<pointBits
	heap.Push(&f.jobs, p)
	f.setTimer()
}

func (f *shared) end(p *Proc) { f.endHold(p.job.since) }

func (f *shared) cut(p *Proc) {
	f.advance()
	j := &p.job
	if j.index < 0 || int64(j.end-f.progress) <= 0 {
		return // ends at this instant anyway
	}
	j.work = j.nextCheck(int64((f.progress - j.start) >> pointBits))
	j.end = j.start + uint64(j.work)<<pointBits
	heap.Fix(&f.jobs, j.index)
	f.setTimer()
}

// advance brings progress up to now. Jobs that end at this instant still count,
// but no time passes for them.
func (f *shared) advance() {
	d, n := uint64(f.sim.now-f.at), uint64(len(f.jobs))
	f.at = f.sim.now
	if c := uint64(f.servers); n <= c {
		f.progress += d << pointBits
	} else {
		hi, lo := bits.Mul64(d*c, 1<<pointBits)
		quo, rest := bits.Div64(hi%n, lo, n) // the upper digits wrap
		if rest > 0 {
			quo++ // so that who is done at this nanosecond is seen to be
		}
		f.progress += quo
	}
}

// setTimer has the timer ring when the first job ends, or before: a timer that
// rings early is set anew, which is cheaper than to move it at each arrival.
func (f *shared) setTimer() {
	if len(f.jobs) == 0 {
		f.timer.due = 0
		return
	}
	rest := max(int64(f.jobs[0].job.end-f.progress), 0)
	c, n := uint64(f.servers), uint64(len(f.jobs))
	if n < c {
		n = c
	}
	// The time until then is rest * n / c, rounded up.
	hi, lo := bits.Mul64(uint64(rest), n)
	quo, mod := bits.Div64(hi, lo, c<<pointBits)
	if mod > 0 {
		quo++
	}
	if at := f.sim.now + int64(quo); f.timer.due == 0 || at < f.rings {
		f.rings = at
		f.sim.after(&f.timer, int64(quo))
	}
}

func (f *shared) ring() {
	f.advance()
	for len(f.jobs) > 0 && int64(f.jobs[0].job.end-f.progress) <= 0 {
		f.sim.wake(heap.Pop(&f.jobs).(*Proc))
	}
	f.setTimer()
}

// jobs is a heap for container/heap.
type jobs []*Proc

func (q jobs) Len() int { return len(q) }

func (q jobs) Less(i, j int) bool {
	a, b := &q[i].job, &q[j].job
	if d := int64(a.end - b.end); d != 0 {
		return d < 0
	}
	return a.seq < b.seq
}

func (q jobs) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].job.index, q[j].job.index = i, j
}

func (q *jobs) Push(x any) {
	p := x.(*Proc)
	p.job.index = len(*q)
	*q = append(*q, p)
}

func (q *jobs) Pop() any {
	last := len(*q) - 1
	p := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	p.job.index = -1
	return p
}
