//go:build giouring && linux

package uring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"latlab.example/rawblock"
)

// queue is what the engine uses of a giouring.Ring. Tests put a hostile one in
// its place.
type queue interface {
	GetSQE() *giouring.SubmissionQueueEntry
	Submit() (uint, error)
	SubmitAndWait(n uint32) (uint, error)
	SQReady() uint32
	Enter(submitted, wait, flags uint32, sig unsafe.Pointer) (uint, error)
	PeekBatchCQE(cqes []*giouring.CompletionQueueEvent) uint32
	CQAdvance(n uint32)
	RegisterBuffersSparse(n uint32) (uint, error)
	RegisterBuffersUpdateTag(at uint32, iovecs []syscall.Iovec, tags *uint64, n uint32) (uint, error)
	QueueExit()
}

var _ queue = (*giouring.Ring)(nil)

// ring is one io_uring, used by one caller at a time.
type ring struct {
	q       queue
	size    int
	polled  bool // by a kernel thread
	cqes    []*giouring.CompletionQueueEvent
	regions []region // registered with the kernel, each by its index
	broken  error    // why the ring can't be used any more

	// Of the caller that it is on loan to.
	job   job            // kept here so that its buffers are alive and on the heap
	again []uint32       // transfers to hand over once more
	moved map[uint32]int // bytes of transfers that were taken in part
	one   [1]rawblock.IO // a single write's
}

// job is what a caller wants of a ring.
type job struct {
	f         File
	fd        int // f's, asked once
	dir       direction
	ios       []rawblock.IO
	submitted func()                    // or nil
	next      func(w *rawblock.IO) bool // or nil
}

// direction is what a ring does with buffers.
type direction string

const (
	writing direction = "write"
	reading direction = "read"
)

func newRing(entries int, flags uint32) (*ring, error) {
	r := giouring.NewRing()
	switch err := r.QueueInit(uint32(min(max(entries, 0), math.MaxUint32)), flags); {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return nil, fmt.Errorf("io_uring: %w (%w); see kernel.io_uring_disabled and the container's seccomp profile, or choose engine posix", rawblock.ErrBlocked, err)
	case err != nil:
		return nil, fmt.Errorf("io_uring: make a ring of %d entries: %w; it takes 1 to %d and enough locked memory; or choose engine posix", entries, err, maxEntries)
	}
	return &ring{q: r, size: entries, polled: flags&giouring.SetupSQPoll != 0, cqes: make([]*giouring.CompletionQueueEvent, entries)}, nil
}

// Tries of a kernel that is short of memory, with nothing under way to wait for.
const (
	patience = 100
	pause    = time.Millisecond
)

// refill is how many transfers take the places of complete ones in one submission.
// All that completed at once would move on as a convoy, with the disk idle before
// it. At depth 32, writes of 4 KiB a second: 97,000 with no limit, 127,000 with
// 4, 112,000 with 8, 100,000 with 16; at depth 128 and with 64 KiB no difference.
const refill = 4

// slice is how long a job goes on before it lets other goroutines run. Go asks
// those that take 10 ms to do so, but not while they are in system calls: it then
// takes their processor away in every call, which cost each write at depth 1 a
// thread switch (Go 1.26).
const slice = 5 * time.Millisecond

// do does a job and returns when all that was handed over is complete.
func (g *ring) do(ctx context.Context, j job) error {
	j.fd = j.f.Fd()
	g.job = j
	defer func() { g.job, g.one[0] = job{}, rawblock.IO{} }()
	g.again = g.again[:0]
	clear(g.moved)
	for i := range j.ios {
		j.ios[i].Err = rawblock.ErrNotDone // until its completion says otherwise
	}
	var (
		fresh    int      // transfers that were handed over at least once
		underway int      // in the ring and not complete
		queued   int      // of these, those that the kernel hasn't taken
		fruit    int      // fruitless tries in a row
		most     = g.size // of one submission
		failed   error
		turn     = time.Now()
	)
	for {
		if failed == nil {
			failed = ctx.Err()
		}
		for failed == nil && underway < g.size && queued < most {
			var i uint32
			if last := len(g.again) - 1; last >= 0 {
				i, g.again = g.again[last], g.again[:last]
			} else if fresh < len(j.ios) {
				i = uint32(fresh)
				fresh++
			} else {
				break
			}
			if failed = g.prepare(i); failed == nil {
				underway++
				queued++
			}
		}
		handedOver := failed != nil || fresh == len(j.ios) && len(g.again) == 0
		if j.submitted != nil && handedOver && queued == 0 {
			j.submitted()
			j.submitted = nil
		}
		if underway == 0 {
			if handedOver {
				return failed
			}
			continue
		}
		if now := time.Now(); now.Sub(turn) > slice {
			runtime.Gosched()
			turn = now
		}
		var err error
		switch {
		case g.broken != nil:
			time.Sleep(pause) // completions arrive without a system call, if late
		case !handedOver && underway < g.size, handedOver && j.submitted != nil:
			_, err = g.q.Submit() // there is more to do before a wait
		case handedOver && j.next == nil:
			_, err = g.q.SubmitAndWait(uint32(underway))
		default:
			_, err = g.q.SubmitAndWait(1)
		}
		if g.broken == nil {
			queued = int(g.q.SQReady())
		}
		if passing(err) && underway > queued {
			_, err = g.q.Enter(0, 1, giouring.EnterGetEvents, nil) // its completion makes room
		}
		switch {
		case err == nil:
			fruit = 0
		case errors.Is(err, unix.EINTR):
		case passing(err) && fruit < patience:
			fruit++
			time.Sleep(pause)
		default:
			g.broken = fmt.Errorf("io_uring: %s of %d transfers: %w; free memory or choose engine posix", j.dir, underway, err)
			if failed == nil {
				failed = g.broken
			}
			if !g.polled || errors.Is(err, unix.EOWNERDEAD) {
				// What the kernel hasn't taken it never will: a broken ring is freed.
				underway, queued = underway-queued, 0
			}
		}
		n := int(g.q.PeekBatchCQE(g.cqes))
		for _, cqe := range g.cqes[:n] {
			if err := g.complete(uint32(cqe.UserData), cqe.Res, failed == nil); err != nil && failed == nil {
				failed = err
			}
		}
		g.q.CQAdvance(uint32(n))
		if n > 0 {
			most = refill
		}
		underway -= n
		queued = min(queued, underway) // a kernel thread may have taken them since
	}
}

// passing errors go away when completions are reaped, or by asking again.
func passing(err error) bool {
	return errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EBUSY)
}

// largest is what one entry of a ring may move: the kernel's limit, in whole
// blocks. The rest of a larger transfer follows.
const largest = 1 << 30

// prepare enters a transfer, or what is left of it, into the ring.
func (g *ring) prepare(i uint32) error {
	w := &g.job.ios[i]
	at, err := g.job.f.Place(w.Off, len(w.Buf))
	if err != nil {
		w.Err = fmt.Errorf("%s %w", g.job.dir, err)
		return w.Err
	}
	buf := w.Buf
	if moved := g.moved[i]; moved > 0 {
		buf, at = buf[moved:], at+int64(moved)
	}
	buf = buf[:min(len(buf), largest)]
	sqe := g.q.GetSQE()
	if sqe == nil { // no more is under way than there are entries
		panic("io_uring: no entry in a ring that isn't full")
	}
	fd, addr, n := g.job.fd, uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uint32(len(buf))
	region := g.region(addr, addr+uintptr(n))
	switch {
	case g.job.dir == reading && region >= 0:
		sqe.PrepareReadFixed(fd, addr, n, uint64(at), region)
	case g.job.dir == reading:
		sqe.PrepareRead(fd, addr, n, uint64(at))
	case region >= 0:
		sqe.PrepareWriteFixed(fd, addr, n, uint64(at), region)
	default:
		sqe.PrepareWrite(fd, addr, n, uint64(at))
	}
	sqe.OpcodeFlags = 0 // the library leaves the flags of the entry's last user
	sqe.UserData = uint64(i)
	return nil
}

// complete reads a completion's result: bytes moved or a negative errno. If the
// job goes on, what was taken in part, and the stream's next write, are to be
// handed over again.
func (g *ring) complete(i uint32, res int32, goOn bool) error {
	w := &g.job.ios[i]
	moved := g.moved[i]
	var err error
	switch whole := moved+int(res) == len(w.Buf); {
	case res == -int32(unix.EINTR):
		g.again = append(g.again, i)
		return nil
	case res < 0:
		err = unix.Errno(-res)
	case whole:
		w.Err = nil
		if moved > 0 {
			delete(g.moved, i)
		}
		if goOn && g.job.next != nil && g.job.next(w) {
			w.Err = rawblock.ErrNotDone
			g.again = append(g.again, i)
		}
		return nil
	case res > 0:
		if g.moved == nil {
			g.moved = map[uint32]int{}
		}
		g.moved[i] = moved + int(res)
		g.again = append(g.again, i)
		return nil
	case g.job.dir == reading:
		err = fmt.Errorf("%w: %d bytes", io.ErrUnexpectedEOF, moved)
	default:
		err = fmt.Errorf("%w: %d bytes", rawblock.ErrShortWrite, moved)
	}
	w.Err = fmt.Errorf("%s %d bytes at %d: %w", g.job.dir, len(w.Buf), w.Off, err)
	return w.Err
}

// register tells the kernel of the regions that the ring doesn't know yet.
func (g *ring) register(regions []region) error {
	if g.regions == nil {
		if _, err := g.q.RegisterBuffersSparse(maxRegions); err != nil {
			return fmt.Errorf("io_uring: make a table of registered memory: %w; it takes Linux 5.19, or leave it off", err)
		}
		g.regions = make([]region, 0, len(regions))
	}
	for i := len(g.regions); i < len(regions); i++ {
		r := regions[i]
		var iovec syscall.Iovec
		*(*uintptr)(unsafe.Pointer(&iovec.Base)) = r.from
		iovec.SetLen(int(r.to - r.from))
		var noTag uint64
		if _, err := g.q.RegisterBuffersUpdateTag(uint32(i), []syscall.Iovec{iovec}, &noTag, 1); err != nil {
			return fmt.Errorf("io_uring: register %d bytes of memory: %w; raise the limit of locked memory or leave it off", r.to-r.from, err)
		}
		g.regions = append(g.regions, r)
	}
	return nil
}

// region is the index of the registered memory that holds all of a buffer, or -1.
func (g *ring) region(from, to uintptr) int {
	for i := len(g.regions) - 1; i >= 0; i-- {
		if g.regions[i].from <= from && to <= g.regions[i].to {
			return i
		}
	}
	return -1
}
