package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
)

// Kind is what an event of a history is.
type Kind uint8

// The kinds of event.
const (
	Submit     Kind = iota // writes were handed over
	Complete               // those of a submission that succeeded are complete
	FlushBegin             // a flush was asked for
	FlushEnd               // it has succeeded
)

func (k Kind) String() string {
	return [...]string{"submit", "complete", "flush begins", "flush ends"}[k]
}

// Event is one step of a history.
type Event struct {
	Kind   Kind
	Of     int     // of Complete and FlushEnd: the event that began it
	Writes []Write // of Submit
}

// Write is a write as it was submitted.
type Write struct {
	Off    int64
	Data   []byte
	Failed bool // set when it completes
}

// History is what a device was asked, in order.
type History []Event

// String writes a history down, a line an event, each write with the CRC32 of its data.
func (h History) String() string {
	var b strings.Builder
	for i, e := range h {
		fmt.Fprintf(&b, "%4d %v", i, e.Kind)
		if e.Kind == Complete || e.Kind == FlushEnd {
			fmt.Fprintf(&b, " of %d", e.Of)
		}
		for _, w := range e.Writes {
			fmt.Fprintf(&b, " %d+%d:%08x", w.Off, len(w.Data), crc32.ChecksumIEEE(w.Data))
			if w.Failed {
				b.WriteString("(failed)")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var (
	// ErrOverlap occurs when a write is submitted while another one to the same
	// block is under way: what the block holds then is nobody's intention.
	ErrOverlap = errors.New("writes under way overlap")
	// ErrDead occurs for everything that is asked of a device after a fault of
	// kind reset.
	ErrDead = errors.New("device is dead")
)

// Recorder is a device in memory that keeps its history. It takes no time. It
// may be used by many goroutines.
type Recorder struct {
	block  int
	base   []byte
	faults *emu.Schedule
	unit   int // that isn't torn

	mu      sync.Mutex // guards what follows
	now     []byte
	history History
	busy    map[int64]int // blocks that are being written, by the event
	dead    error
	hook    func()
}

var _ rawblock.Batcher = (*Recorder)(nil)

// NewRecorder makes a device that holds image, in blocks of so many bytes. A
// fault of operation "write" (each write of a batch counts), "read" or "flush"
// makes it fail, and one of kind reset everything from then on. faults may be nil.
func NewRecorder(image []byte, block int, faults *emu.Schedule) (*Recorder, error) {
	if block < 1 || len(image) < block || len(image)%block != 0 {
		return nil, fmt.Errorf("crash: device of %d bytes in blocks of %d: it must be made of whole blocks", len(image), block)
	}
	if err := faults.Check("write", "read", "flush"); err != nil {
		return nil, fmt.Errorf("crash: device: %w", err)
	}
	return &Recorder{block: block, unit: block, base: bytes.Clone(image), now: bytes.Clone(image), faults: faults, busy: map[int64]int{}}, nil
}

// TearAt lets a crash tear writes within blocks, at multiples of so many bytes: a
// file system may ask for larger blocks than its disk writes at once. It must
// divide the block, and be called before the first event.
func (r *Recorder) TearAt(unit int) {
	if unit < 1 || r.block%unit != 0 {
		panic(fmt.Sprintf("crash: blocks of %d bytes can't be torn at multiples of %d", r.block, unit))
	}
	r.unit = unit
}

// Hook has f called once, within the next submission of writes: they are under
// way while it runs. f may use the device.
func (r *Recorder) Hook(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = f
}

// Len is the number of events so far.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.history)
}

// History is what happened so far. Its data is shared: it must not be changed.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(History(nil), r.history...)
}

// Image is what the device holds, as if nothing were ever lost.
func (r *Recorder) Image() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.now)
}

// BlockSize is the block in bytes.
func (r *Recorder) BlockSize() int { return r.block }

// Size is the size in bytes.
func (r *Recorder) Size() int64 { return int64(len(r.base)) }

// Close does nothing, so that the history can be read afterwards.
func (r *Recorder) Close() error { return nil }

// fault counts a call and says why it fails. The caller holds the lock.
func (r *Recorder) fault(op string) error {
	if r.dead != nil {
		return r.dead
	}
	f, ok := r.faults.Next(op)
	if !ok {
		return nil
	}
	if f.Kind == emu.Reset {
		r.dead = fmt.Errorf("crash: %w: %w", ErrDead, f.Err())
		return r.dead
	}
	return f.Err()
}

// ReadAt reads what was written last.
func (r *Recorder) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.check(p, off); err != nil {
		return 0, err
	}
	if err := r.fault("read"); err != nil {
		return 0, err
	}
	return copy(p, r.now[off:]), nil
}

// ReadBatch reads all.
func (r *Recorder) ReadBatch(ctx context.Context, rs []rawblock.IO) error {
	var first error
	for i := range rs {
		if rs[i].Err = ctx.Err(); rs[i].Err == nil {
			_, rs[i].Err = r.ReadAt(rs[i].Buf, rs[i].Off)
		}
		if first == nil {
			first = rs[i].Err
		}
	}
	return first
}

// Write is a submission of one.
func (r *Recorder) Write(ctx context.Context, w rawblock.IO) error {
	return r.WriteBatch(ctx, []rawblock.IO{w}, nil)
}

// WriteBatch records a submission, calls the hook, and records its completion.
func (r *Recorder) WriteBatch(ctx context.Context, ws []rawblock.IO, submitted func()) error {
	if err := ctx.Err(); err != nil {
		for i := range ws {
			ws[i].Err = rawblock.ErrNotDone
		}
		return err
	}
	at, hook, err := r.submit(ws)
	if err != nil {
		return err
	}
	if submitted != nil {
		submitted()
	}
	if hook != nil {
		hook()
	}
	return r.complete(at, ws)
}

func (r *Recorder) submit(ws []rawblock.IO) (at int, hook func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at = len(r.history)
	for i := range ws {
		if ws[i].Err = r.check(ws[i].Buf, ws[i].Off); ws[i].Err != nil {
			return 0, nil, ws[i].Err
		}
	}
	e := Event{Kind: Submit, Writes: make([]Write, len(ws))}
	var marked []int64
	for i, w := range ws {
		for b := w.Off; b < w.Off+int64(len(w.Buf)); b += int64(r.block) {
			if by, ok := r.busy[b]; ok {
				for _, b := range marked {
					delete(r.busy, b)
				}
				return 0, nil, fmt.Errorf("crash: write %d bytes at %d: %w: with event %d", len(w.Buf), w.Off, ErrOverlap, by)
			}
			r.busy[b] = at
			marked = append(marked, b)
		}
		e.Writes[i] = Write{Off: w.Off, Data: bytes.Clone(w.Buf)}
	}
	r.history = append(r.history, e)
	hook, r.hook = r.hook, nil
	return at, hook, nil
}

func (r *Recorder) complete(at int, ws []rawblock.IO) (first error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	writes := r.history[at].Writes
	for i := range ws {
		w := &writes[i]
		ws[i].Err = r.fault("write")
		if ws[i].Err == nil {
			copy(r.now[w.Off:], w.Data)
		} else {
			w.Failed = true
			if first == nil {
				first = ws[i].Err
			}
		}
		for b := w.Off; b < w.Off+int64(len(w.Data)); b += int64(r.block) {
			delete(r.busy, b)
		}
	}
	r.history = append(r.history, Event{Kind: Complete, Of: at})
	return first
}

// Flush records its beginning and, if it succeeds, its end.
func (r *Recorder) Flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := len(r.history)
	r.history = append(r.history, Event{Kind: FlushBegin})
	if err := r.fault("flush"); err != nil {
		return err
	}
	r.history = append(r.history, Event{Kind: FlushEnd, Of: at})
	return nil
}

func (r *Recorder) check(p []byte, off int64) error {
	block := int64(r.block)
	if off < 0 || off > int64(len(r.base))-int64(len(p)) || off%block != 0 || int64(len(p))%block != 0 || len(p) == 0 {
		return fmt.Errorf("crash: %d bytes at %d: not whole blocks of %d within %d bytes", len(p), off, block, len(r.base))
	}
	return nil
}
