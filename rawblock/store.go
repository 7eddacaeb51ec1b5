package rawblock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"latlab.example/common/metrics"
)

// Errors of a store. They come wrapped with the key or the sizes.
var (
	// ErrFull occurs when there are fewer free slots than keys to write.
	ErrFull = errors.New("no free slot")
	// ErrTooBig occurs when a payload is larger than Options.Payload.
	ErrTooBig = errors.New("payload too big for a slot")
	// ErrNotFound occurs when a key isn't in the index.
	ErrNotFound = errors.New("key not found")
	// ErrInFlight occurs when a key that is being written is to be deleted.
	ErrInFlight = errors.New("key is being written")
	// ErrClosed occurs when a store is used after Close.
	ErrClosed = errors.New("store is closed")
	// ErrArguments occurs when keys and objects don't belong together.
	ErrArguments = errors.New("keys and objects differ in number")
)

// DefaultWorkers is the size of strategy Pool.
const DefaultWorkers = 32

// Options shape a store. The zero value of a field asks for its baseline.
type Options struct {
	Payload   int       // the largest payload in bytes; 4096 if zero
	Slots     int       // how many slots to use; as many as the device holds if zero
	Strategy  Strategy  // how PutMany writes
	Workers   int       // goroutines of strategy Pool; DefaultWorkers if zero
	Layout    Layout    // where a slot's header lies
	Placement Placement // the order in which free slots are given out
	Seed      uint64    // of the scattered order
	Recorder  *metrics.Recorder
}

// ensureDefaults fills in what was left zero: environment, then baseline.
func (o Options) ensureDefaults() (Options, error) {
	if o.Payload == 0 {
		o.Payload = 4096
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.Recorder == nil {
		o.Recorder = metrics.NewRecorder(Stages)
	}
	var errs [3]error
	o.Strategy, errs[0] = resolve(StrategyToggle, o.Strategy)
	o.Layout, errs[1] = resolve(LayoutToggle, o.Layout)
	o.Placement, errs[2] = resolve(PlacementToggle, o.Placement)
	return o, errors.Join(errs[:]...)
}

// resolve finds a toggle's level: option, environment, baseline. An option that
// isn't a level is an error too.
func resolve[T ~string](t *metrics.Toggle[T], option T) (T, error) {
	if option == "" {
		return t.Resolve(nil, nil)
	}
	return t.Parse(string(option))
}

// Store keeps objects in fixed slots of a device. See the package's comment for
// its concurrency rules.
type Store struct {
	dev     Device
	batcher Batcher // dev, if it takes batches
	opt     Options
	geo     geometry
	rec     *metrics.Recorder
	arena   arena
	calls   sync.WaitGroup // that use dev; Close waits for them
	writes  atomic.Int64   // handed to dev

	mu       sync.Mutex // guards what follows
	closed   bool
	free     *freeList
	index    map[Key]uint32
	inFlight map[Key]struct{}
	meta     []slotMeta // by slot
}

type slotMeta struct {
	length uint32 // of the payload
	pins   uint32 // Gets that read the slot
	dead   bool   // deleted while pinned: the last Get gives it back
}

// New makes an empty store on dev. The store owns dev from then on: Close
// closes it, and so does an error of New.
func New(dev Device, o Options) (*Store, error) {
	s, err := newStore(dev, o)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return s, nil
}

func newStore(dev Device, o Options) (*Store, error) {
	o, err := o.ensureDefaults()
	if err != nil {
		return nil, fmt.Errorf("rawblock: options: %w", err)
	}
	if o.Payload < 1 || o.Payload > math.MaxUint32 || o.Workers < 1 || o.Slots < 0 {
		return nil, fmt.Errorf("rawblock: options: payload %d, workers %d, slots %d: the first two must be at least 1, slots 0 (all) or more", o.Payload, o.Workers, o.Slots)
	}
	geo := geometry{block: dev.BlockSize(), layout: o.Layout, payload: o.Payload}
	fit := dev.Size() / int64(geo.slot())
	if fit < max(1, int64(o.Slots)) {
		return nil, fmt.Errorf("rawblock: %w: %d bytes hold %d slots of %d bytes, %d asked; use a larger device or a smaller payload",
			ErrTooSmall, dev.Size(), fit, geo.slot(), max(1, o.Slots))
	}
	if o.Slots == 0 {
		o.Slots = int(min(fit, math.MaxUint32))
	}
	s := &Store{
		dev: dev, opt: o, geo: geo, rec: o.Recorder,
		free:  newFreeList(o.Slots, o.Placement, o.Seed),
		index: make(map[Key]uint32), inFlight: make(map[Key]struct{}),
		meta: make([]slotMeta, o.Slots),
	}
	s.batcher, _ = dev.(Batcher)
	return s, nil
}

// Stats counts slots: free + stored + in flight + deleted while read = all. Writes
// are those handed to the device so far.
type Stats struct {
	Slots, Free, Stored, InFlight int
	Writes                        int64
}

// Stats reads the counts at one moment.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Slots: len(s.meta), Free: s.free.n, Stored: len(s.index), InFlight: len(s.inFlight), Writes: s.writes.Load()}
}

// begin registers a call that uses the device.
func (s *Store) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.calls.Add(1)
	return nil
}

// Get appends the key's payload to dst. The slot is pinned meanwhile: Delete
// and reuse can't change what is read.
func (s *Store) Get(ctx context.Context, k Key, dst []byte) ([]byte, error) {
	if err := s.begin(); err != nil {
		return dst, err
	}
	defer s.calls.Done()
	s.mu.Lock()
	slot, ok := s.index[k]
	if !ok {
		s.mu.Unlock()
		return dst, fmt.Errorf("get %v: %w", k, ErrNotFound)
	}
	s.meta[slot].pins++
	length := int(s.meta[slot].length)
	s.mu.Unlock()
	defer s.unpin(slot)

	if err := ctx.Err(); err != nil {
		return dst, err
	}
	buf, err := s.arena.get(s.geo.used(length))
	if err != nil {
		return dst, fmt.Errorf("get %v: %w", k, err)
	}
	defer s.arena.put(buf)
	if _, err := s.dev.ReadAt(buf, s.offset(slot)); err != nil {
		return dst, fmt.Errorf("get %v: read slot %d: %w", k, slot, err)
	}
	if err := checkHeader(buf, k, length); err != nil {
		return dst, fmt.Errorf("get %v: slot %d: %w", k, slot, err)
	}
	at := s.geo.payloadAt()
	return append(dst, buf[at:at+length]...), nil
}

func (s *Store) unpin(slot uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.meta[slot]
	if m.pins--; m.pins == 0 && m.dead {
		m.dead = false
		s.free.give(slot)
	}
}

// Delete takes a key out of the index. Its slot is free at once, or when the
// last Get that reads it is done.
func (s *Store) Delete(k Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	slot, ok := s.index[k]
	if !ok {
		if _, writing := s.inFlight[k]; writing {
			return fmt.Errorf("delete %v: %w; delete it when its PutMany has returned", k, ErrInFlight)
		}
		return fmt.Errorf("delete %v: %w", k, ErrNotFound)
	}
	delete(s.index, k)
	if m := &s.meta[slot]; m.pins > 0 {
		m.dead = true
	} else {
		s.free.give(slot)
	}
	return nil
}

// Close waits for calls under way, then closes the device. Later calls, also of
// Close, get ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	s.arena.close()
	return s.dev.Close()
}

func (s *Store) offset(slot uint32) int64 { return int64(slot) * int64(s.geo.slot()) }
