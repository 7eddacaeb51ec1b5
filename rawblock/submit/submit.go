package submit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"latlab.example/rawblock"
)

// Store is what a Submitter writes to.
type Store interface {
	// Has says whether the key is stored. It must be quick: it is asked under a lock.
	Has(k rawblock.Key) bool
	// PutMany stores objects[i] under keys[i], and is done with the bytes when it
	// returns.
	PutMany(ctx context.Context, keys []rawblock.Key, objects [][]byte) (rawblock.PutResult, error)
}

// Errors of a Submitter. They come wrapped with what was asked.
var (
	// ErrQueueFull occurs in TrySubmit when Options.Queue tasks wait or run.
	ErrQueueFull = errors.New("queue is full")
	// ErrClosed occurs when a Submitter is used after Close.
	ErrClosed = errors.New("submitter is closed")
	// ErrArguments occurs when keys and objects don't belong together.
	ErrArguments = errors.New("keys and objects differ in number")
	// ErrDispatch occurs when the background task could not be started. Nothing
	// will be stored. The error also wraps the Starter's.
	ErrDispatch = errors.New("background task could not be started")
)

// Defaults of Options.
const (
	DefaultQueue   = 64
	DefaultWorkers = 4
)

// Options shape a Submitter. The zero value of a field asks for its baseline.
type Options struct {
	Dedup    Dedup    // where a key is looked up
	Dispatch Dispatch // what a failed dispatch leaves
	Queue    int      // how many tasks may wait or run; DefaultQueue if zero
	// Starter starts the background tasks, and is stopped by its owner, after Close.
	// If nil, the Submitter has a Loop of DefaultWorkers of its own.
	Starter Starter
	// Done is told what became of each task, on the task's goroutine, after its
	// registrations were taken back. It may be nil. Close waits for it.
	Done func(Outcome)
	// BeforeLock is called by each Submit with its keys, just before the critical
	// section that registers them. With racy look-up they were looked up before it:
	// it is the window of that fault. Tests and experiments let other calls in
	// there. It may be nil.
	BeforeLock func(keys []rawblock.Key)
}

// Outcome says what became of a background task. Keys are those that were
// accepted; Err is PutMany's.
type Outcome struct {
	Keys   []rawblock.Key
	Result rawblock.PutResult
	Err    error
}

// Result says what a Submit did.
type Result struct {
	// Accepted keys were taken over; they are being stored.
	Accepted int
	// Known keys were stored already, or registered by another Submit, or twice in
	// this one. Nothing is done for them, and whether the other Submit succeeds is
	// its own affair.
	Known int
}

// Stats are counts since the Submitter was made, but for Registered and Queued,
// which are the present ones.
type Stats struct {
	Accepted, Known int64
	// Duplicates were accepted although the store had them, or was writing them,
	// when their task ran: what the racy look-up lets through. Others that write to
	// the same store add to it too.
	Duplicates int64
	Stored     int64 // by PutMany
	Failed     int64 // accepted, and neither stored nor duplicates
	Undone     int64 // references taken back after a failed dispatch
	Leaked     int64 // references left raised after a failed dispatch
	Registered int   // keys that are registered now, leaked ones too
	Queued     int   // tasks that wait or run
}

// Submitter takes keys and objects over and has them stored in the background.
type Submitter struct {
	store  Store
	opt    Options
	own    *Loop          // if there was no Starter
	places chan struct{}  // one message a Submit or task under way, at most Options.Queue
	calls  sync.WaitGroup // Submits and tasks; Close waits for them

	mu         sync.Mutex // guards what follows
	closed     bool
	registered map[rawblock.Key]struct{}
	stats      Stats
}

// New makes a Submitter on a store, which its owner closes, after Close.
func New(store Store, o Options) (*Submitter, error) {
	var errs [2]error
	o.Dedup, errs[0] = resolve(DedupToggle, o.Dedup)
	o.Dispatch, errs[1] = resolve(DispatchToggle, o.Dispatch)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("submit: options: %w", err)
	}
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	if o.Queue < 0 {
		return nil, fmt.Errorf("submit: options: queue of %d: it must be at least 1, or 0 for %d", o.Queue, DefaultQueue)
	}
	s := &Submitter{store: store, opt: o, places: make(chan struct{}, o.Queue), registered: make(map[rawblock.Key]struct{})}
	if o.Starter == nil {
		loop, err := NewLoop(DefaultWorkers)
		if err != nil {
			return nil, err
		}
		s.own, s.opt.Starter = loop, loop
	}
	return s, nil
}

// Submit takes over the keys that aren't known, with their objects, as one
// background task. It waits for a place in the queue. It takes references of its
// own: the caller may release the objects when it returns, whatever it returns.
// With an error nothing was taken over; ErrDispatch leaves behind what toggle
// dispatch says.
func (s *Submitter) Submit(ctx context.Context, keys []rawblock.Key, objects []*Object) (Result, error) {
	return s.submit(keys, objects, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		select {
		case s.places <- struct{}{}:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("wait for one of %d places: %w", s.opt.Queue, ctx.Err())
		}
	})
}

// TrySubmit is Submit without waiting: the error wraps ErrQueueFull if there is
// no place.
func (s *Submitter) TrySubmit(keys []rawblock.Key, objects []*Object) (Result, error) {
	return s.submit(keys, objects, func() error {
		select {
		case s.places <- struct{}{}:
			return nil
		default:
			return fmt.Errorf("%w: %d tasks wait or run; try later, or Submit waits", ErrQueueFull, s.opt.Queue)
		}
	})
}

func (s *Submitter) submit(keys []rawblock.Key, objects []*Object, place func() error) (Result, error) {
	if len(keys) != len(objects) {
		return Result{}, fmt.Errorf("submit: %w: %d keys, %d objects", ErrArguments, len(keys), len(objects))
	}
	if err := s.begin(); err != nil {
		return Result{}, err
	}
	if err := place(); err != nil {
		s.calls.Done()
		return Result{}, fmt.Errorf("submit %d keys: %w; nothing was taken over", len(keys), err)
	}

	t := s.take(keys, objects)
	res := Result{Accepted: len(t.keys), Known: len(keys) - len(t.keys)}
	if len(t.keys) == 0 {
		s.end()
		return res, nil
	}
	if err := s.opt.Starter.Start(func() { s.run(t) }); err != nil {
		s.fail(t)
		s.end()
		return Result{}, fmt.Errorf("submit %d keys: %w: %w; nothing will be stored", len(keys), ErrDispatch, err)
	}
	return res, nil // the task ends the call
}

// begin registers a call, so that Close waits for it; end is its counterpart, for
// a call that has a place.
func (s *Submitter) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("submit: %w", ErrClosed)
	}
	s.calls.Add(1)
	return nil
}

func (s *Submitter) end() {
	<-s.places
	s.calls.Done()
}

// task is the keys that one Submit took, with their objects.
type task struct {
	keys    []rawblock.Key
	objects []*Object
}

// take looks the keys up, registers those that aren't known, and raises their
// objects' counts.
func (s *Submitter) take(keys []rawblock.Key, objects []*Object) task {
	has := s.store.Has
	if s.opt.Dedup == Racy {
		has = s.lookUp(keys)
	}
	if s.opt.BeforeLock != nil {
		s.opt.BeforeLock(keys)
	}
	var t task
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range keys {
		// A task commits to the store first and unregisters then, so that there is
		// no moment in which a key is neither.
		if _, ok := s.registered[k]; ok || has(k) {
			continue
		}
		s.registered[k] = struct{}{}
		objects[i].Retain()
		t.keys = append(t.keys, k)
		t.objects = append(t.objects, objects[i])
	}
	s.stats.Accepted += int64(len(t.keys))
	s.stats.Known += int64(len(keys) - len(t.keys))
	return t
}

// lookUp asks the store for all keys now, and gives the answers, which may be
// out of date by the time they are used.
func (s *Submitter) lookUp(keys []rawblock.Key) func(rawblock.Key) bool {
	stored := make(map[rawblock.Key]bool, len(keys))
	for _, k := range keys {
		stored[k] = s.store.Has(k)
	}
	return func(k rawblock.Key) bool { return stored[k] }
}

// fail deals with a task that could not be started.
func (s *Submitter) fail(t task) {
	s.mu.Lock()
	s.stats.Accepted -= int64(len(t.keys))
	if s.opt.Dispatch == Leaky {
		s.stats.Leaked += int64(len(t.objects))
		s.mu.Unlock()
		return
	}
	s.stats.Undone += int64(len(t.objects))
	s.unregister(t.keys)
	s.mu.Unlock()
	release(t.objects)
}

// run is the background task.
func (s *Submitter) run(t task) {
	defer s.end()
	buffers := make([][]byte, len(t.objects))
	for i, o := range t.objects {
		buffers[i] = o.Bytes()
	}
	// The caller's context is none of the task's: the caller has gone on.
	res, err := s.store.PutMany(context.Background(), t.keys, buffers)
	s.mu.Lock()
	s.unregister(t.keys)
	twice := res.Present + res.InFlight
	s.stats.Stored += int64(res.Written)
	s.stats.Duplicates += int64(twice)
	s.stats.Failed += int64(len(t.keys) - res.Written - twice)
	s.mu.Unlock()
	release(t.objects)
	if s.opt.Done != nil {
		s.opt.Done(Outcome{Keys: t.keys, Result: res, Err: err})
	}
}

// unregister needs mu.
func (s *Submitter) unregister(keys []rawblock.Key) {
	for _, k := range keys {
		delete(s.registered, k)
	}
}

func release(objects []*Object) {
	for _, o := range objects {
		o.Release()
	}
}

// Stats reads the counts at one moment.
func (s *Submitter) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Registered = len(s.registered)
	st.Queued = len(s.places)
	return st
}

// Close refuses new Submits and returns when those under way and all their tasks
// are done. What a leaky dispatch left stays. Later calls get ErrClosed.
func (s *Submitter) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("submit: %w", ErrClosed)
	}
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	if s.own != nil {
		s.own.Stop()
	}
	return nil
}
