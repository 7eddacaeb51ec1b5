package rawblock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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
	// ErrInFlight occurs for a key that another call is writing.
	ErrInFlight = errors.New("key is being written")
	// ErrDeleted occurs for a key that was deleted while it was being written.
	ErrDeleted = errors.New("key was deleted while it was being written")
	// ErrFlush occurs when the device failed to flush, and from then on: what it
	// had taken before may be lost, so nothing more can be promised.
	ErrFlush = errors.New("flush failed")
	// ErrClosed occurs when a store is used after Close.
	ErrClosed = errors.New("store is closed")
	// ErrArguments occurs when keys and objects don't belong together.
	ErrArguments = errors.New("keys and objects differ in number")
)

// DefaultWorkers is the size of strategy Pool.
const DefaultWorkers = 32

// Options shape a store. The zero value of a field asks for its baseline; for
// Open, zero Payload, Slots and Layout ask for those of the store.
type Options struct {
	Payload    int        // the largest payload in bytes; 4096 if zero
	Slots      int        // how many slots to use; as many as the device holds if zero
	Strategy   Strategy   // how PutMany writes
	Workers    int        // goroutines of strategy Pool; DefaultWorkers if zero
	Chunk      int        // keys that strategy Batch and GetMany submit together; all of a call if zero; the study's upstream takes 64
	Layout     Layout     // where a slot's header lies
	Placement  Placement  // the order in which free slots are given out
	Seed       uint64     // of the scattered order
	Durability Durability // what a crash may take
	Verify     bool       // Open reads all payloads, not only those newer than the checkpoint
	Recorder   *metrics.Recorder
}

// ensureDefaults fills in what was left zero, but for what only Format decides:
// environment, then baseline.
func (o Options) ensureDefaults() (Options, error) {
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.Recorder == nil {
		o.Recorder = metrics.NewRecorder(Stages)
	}
	var errs [3]error
	o.Strategy, errs[0] = resolve(StrategyToggle, o.Strategy)
	o.Placement, errs[1] = resolve(PlacementToggle, o.Placement)
	o.Durability, errs[2] = resolve(DurabilityToggle, o.Durability)
	if err := errors.Join(errs[:]...); err != nil {
		return o, fmt.Errorf("options: %w", err)
	}
	if o.Workers < 1 || o.Chunk < 0 {
		return o, fmt.Errorf("options: workers %d, chunk %d: neither may be negative", o.Workers, o.Chunk)
	}
	return o, o.checkSizes()
}

// checkSizes refuses what no superblock can say.
func (o Options) checkSizes() error {
	if o.Payload < 0 || o.Payload > math.MaxUint32 || o.Slots < 0 {
		return fmt.Errorf("options: payload %d, slots %d: neither may be negative, and a payload at most %d", o.Payload, o.Slots, math.MaxUint32)
	}
	return nil
}

// resolve finds a toggle's level: option, environment, baseline. An option that
// isn't a level is an error too.
func resolve[T ~string](t *metrics.Toggle[T], option T) (T, error) {
	if option == "" {
		return t.Resolve(nil, nil)
	}
	return t.Parse(string(option))
}

// plan is the superblock that Format would write.
func plan(dev Device, o Options) (superblock, error) {
	if err := o.checkSizes(); err != nil {
		return superblock{}, err
	}
	if o.Payload == 0 {
		o.Payload = 4096
	}
	layout, err := resolve(LayoutToggle, o.Layout)
	if err != nil {
		return superblock{}, fmt.Errorf("options: %w", err)
	}
	geo := geometry{block: dev.BlockSize(), layout: layout, payload: o.Payload}
	if geo.block < minBlock {
		return superblock{}, fmt.Errorf("%w: blocks of %d bytes, a store needs at least %d", ErrGeometry, geo.block, minBlock)
	}
	geo = geo.fit(dev.Size())
	if geo.slots < max(1, o.Slots) {
		return superblock{}, fmt.Errorf("%w: %d bytes hold %d slots of %d bytes, %d asked; use a larger device or a smaller payload",
			ErrTooSmall, dev.Size(), geo.slots, geo.slot(), max(1, o.Slots))
	}
	if o.Slots > 0 {
		geo.slots = o.Slots
	}
	return superblock{geo: geo, instance: rand.Uint64()}, nil
}

// Store keeps objects in fixed slots of a device. See the package's comment for
// its concurrency rules.
type Store struct {
	dev      Device
	batcher  Batcher // dev, if it takes batches
	opt      Options
	geo      geometry
	instance uint64
	rec      *metrics.Recorder
	arena    arena
	calls    sync.WaitGroup // that use dev; Close waits for them
	recovery Recovery

	writes, flushes atomic.Int64          // handed to dev
	flushError      atomic.Pointer[error] // of the first flush that failed

	syncing  sync.Mutex // held by Sync; guards what follows. Taken before mu
	sequence uint64     // of the last checkpoint
	synced   uint64     // changes that it covers
	rejected [2]bool    // containers that hold half a checkpoint from before Open

	mu       sync.Mutex // guards what follows
	closed   bool
	free     *freeList
	index    index      // slots that are stored or in flight
	meta     []slotMeta // by slot
	gen      uint64     // of the next write
	call     uint64     // of the last PutMany
	stored   int
	inFlight int
	changes  uint64 // of what Open would find
}

// slotMeta is what is known of a slot. It holds no pointer, so that the garbage
// collector doesn't look at millions of them.
type slotMeta struct {
	key    Key
	gen    uint64
	call   uint64 // the PutMany that writes it
	length uint32 // of the payload
	pins   uint32 // Gets that read the slot
	state  slotState
}

type slotState uint8

const (
	slotFree slotState = iota
	slotInFlight
	slotCancelled // deleted while in flight: free when its write is done
	slotStored
	slotDead // deleted while read: free when the last Get is done
)

// Format makes the device hold an empty store. It writes the superblock, and
// flushes: a crash leaves the device as it was or empty. What slots and
// checkpoints hold from before is never taken for the new store's.
func Format(ctx context.Context, dev Device, o Options) error {
	b, err := plan(dev, o)
	if err == nil {
		var a arena
		err = b.write(ctx, dev, &a)
		a.close()
	}
	if err != nil {
		return fmt.Errorf("rawblock: format: %w", err)
	}
	return nil
}

// New formats dev and opens the store, without looking for what can't be there.
// The store owns dev from then on: Close closes it, and so does an error of New.
func New(dev Device, o Options) (*Store, error) {
	s, err := newStore(dev, o)
	if err == nil {
		var b superblock
		if b, err = plan(dev, o); err == nil {
			s.use(b)
			err = b.write(context.Background(), dev, &s.arena)
			s.start(nil)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("rawblock: new store: %w", err), s.abandon(dev))
	}
	return s, nil
}

// newStore makes a store that has no slots yet.
func newStore(dev Device, o Options) (*Store, error) {
	o, err := o.ensureDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{dev: dev, opt: o, rec: o.Recorder, gen: 1}
	s.batcher, _ = dev.(Batcher)
	if r, ok := dev.(Registrar); ok {
		s.arena.register = r.Register
	}
	return s, nil
}

// use takes on the geometry of a superblock.
func (s *Store) use(b superblock) {
	s.geo, s.instance = b.geo, b.instance
	s.opt.Payload = b.geo.payload
	s.meta = make([]slotMeta, b.geo.slots)
	s.index = newIndex(s.meta)
}

// start makes the list of free slots: those that aren't used.
func (s *Store) start(used func(slot uint32) bool) {
	s.free = newFreeList(s.geo.slots, s.opt.Placement, s.opt.Seed, used)
}

// abandon frees what a store that couldn't be made had. s may be nil.
func (s *Store) abandon(dev Device) error {
	err := dev.Close()
	if s != nil {
		s.arena.close()
	}
	return err
}

// Stats counts slots: free + stored + in flight + deleted while read = all.
// Writes are those of puts that were handed to the device so far. Flushes are
// those of puts and of Sync.
type Stats struct {
	Slots, Free, Stored, InFlight int
	Writes, Flushes               int64
}

// Stats reads the counts at one moment.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Slots: len(s.meta), Free: s.free.n, Stored: s.stored, InFlight: s.inFlight,
		Writes: s.writes.Load(), Flushes: s.flushes.Load(),
	}
}

// Has says whether a key is stored.
func (s *Store) Has(k Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot, _, ok := s.index.find(&k)
	return ok && s.meta[slot].state == slotStored
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

// Delete takes a key out of the index. Its slot is free at once, or when the
// last Get that reads it is done. A key that is being written is cancelled: the
// slot is free when its write is done, and the put reports ErrDeleted.
//
// Nothing is written: until a Sync, a crash may bring the key back.
func (s *Store) Delete(k Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	slot, _, ok := s.index.find(&k)
	if !ok || s.meta[slot].state == slotCancelled {
		return fmt.Errorf("delete %v: %w", k, ErrNotFound)
	}
	m := &s.meta[slot]
	if m.state == slotInFlight {
		m.state = slotCancelled
		s.changes++
		return nil
	}
	s.index.remove(&k)
	s.stored--
	s.changes++
	if m.pins > 0 {
		m.state = slotDead
	} else {
		s.release(slot)
	}
	return nil
}

// release gives a slot back. The caller holds mu.
func (s *Store) release(slot uint32) {
	s.meta[slot].state = slotFree
	s.free.give(slot)
}

// Close waits for calls under way, writes a checkpoint if anything changed since
// the last, and closes the device. Without the checkpoint, which an error of
// Close may mean, Open finds what it would after a crash. Later calls, also of
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
	err := s.sync(context.Background())
	if err != nil {
		err = fmt.Errorf("rawblock: close: %w", err)
	}
	err = errors.Join(err, s.dev.Close())
	s.arena.close()
	return err
}
