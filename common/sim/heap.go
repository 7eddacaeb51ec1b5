package sim

// A task is what an event brings on: a process that goes on, or a function that
// runs. It has one pending event at most.
type task struct {
	due    uint64 // number of the pending event, 0 if there is none
	run    func() // nil for a process
	proc   *Proc
	sample bool // only looks: a run in which nothing else is left is at its end
}

// An event is a task's turn at an instant. It is stale, and does nothing, once
// its task is due at another event: so nothing is ever searched for in a queue.
type event struct {
	at  int64
	seq uint64
	t   *task
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// agenda holds the events to come, the next one first: a heap of four children
// a node, which is shallower than one of two. What was taken from the top leaves a
// hole, which the next event that comes in fills with one pass over the heap
// in place of two; a process that sleeps again does just that.
type agenda struct {
	events []event
	hole   bool // events[0] was taken
}

func (a *agenda) push(e event) {
	if a.hole {
		a.hole = false
		a.down(e)
		return
	}
	a.events = append(a.events, e)
	i := len(a.events) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(a.events[up]) {
			break
		}
		a.events[i] = a.events[up]
		i = up
	}
	a.events[i] = e
}

// settle fills the hole. Afterwards events[0] is the next event, if any is left.
func (a *agenda) settle() {
	a.hole = false
	last := len(a.events) - 1
	e := a.events[last]
	a.events[last] = event{}
	a.events = a.events[:last]
	if last > 0 {
		a.down(e)
	}
}

// down puts e into the hole at the top and restores the order.
func (a *agenda) down(e event) {
	h := a.events
	i := 0
	for {
		child := 4*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}

// fifo is a queue, first in, first out. Its room is a power of two and is kept.
type fifo[T any] struct {
	ring  []T
	first int
	n     int
}

func (q *fifo[T]) push(v T) {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = v
	q.n++
}

func (q *fifo[T]) grow() {
	ring := make([]T, max(2*len(q.ring), 8))
	for i := range q.n {
		ring[i] = q.at(i)
	}
	q.ring, q.first = ring, 0
}

// at is the i-th from the front.
func (q *fifo[T]) at(i int) T { return q.ring[(q.first+i)&(len(q.ring)-1)] }

func (q *fifo[T]) pop() T {
	var zero T
	v := q.ring[q.first]
	q.ring[q.first] = zero
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	return v
}

// drop takes out the i-th from the front.
func (q *fifo[T]) drop(i int) {
	mask := len(q.ring) - 1
	for ; i > 0; i-- {
		q.ring[(q.first+i)&mask] = q.ring[(q.first+i-1)&mask]
	}
	q.pop()
}
