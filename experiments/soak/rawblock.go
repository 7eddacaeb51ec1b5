package soak

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
	"latlab.example/rawblock/crash/replay"
	"latlab.example/rawblock/fake"
)

// Crash replays histories of a store whose device loses its power, or fails.
func Crash(ctx context.Context, seed uint64) (Did, error) {
	c := replay.New()
	for n := range uint64(4) {
		if ctx.Err() != nil {
			break
		}
		if err := c.Random(context.WithoutCancel(ctx), seed*4+n); err != nil {
			return Did{}, err
		}
	}
	return Did{Right: c.States}, nil
}

// users of a store, each with keys of its own beside those that all share.
const (
	storeUsers = 4
	ownKeys    = 24
	sharedKeys = 12
)

// store is a round of the slot store on its simulated device.
type store struct {
	*rawblock.Store
	payload int
}

// Rawblock has users put, get and delete on a store whose device fails at times,
// and opens it again from what the device holds.
func Rawblock(ctx context.Context, seed uint64) (did Did, err error) {
	r := rand.New(rand.NewPCG(seed, 1))
	slots := 60 + r.IntN(120)
	o := rawblock.Options{
		Payload: 300 << r.IntN(5), Strategy: pick(r, rawblock.StrategyToggle.Levels()), Workers: 1 + r.IntN(8), Chunk: r.IntN(20),
		Layout: pick(r, rawblock.LayoutToggle.Levels()), Placement: pick(r, rawblock.PlacementToggle.Levels()), Seed: seed,
		Durability: pick(r, rawblock.DurabilityToggle.Levels()),
	}
	const block = 512
	faults, text, err := schedule(r, 4, "write:error", "write:torn", "write:short", "write:slow(2ms)", "read:error", "read:short", "read:slow(2ms)")
	if err != nil {
		return did, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%+v on %d slots, faults %q: %w", o, slots, text, err)
		}
	}()
	latency, err := emu.CappedExponential(time.Duration(10+r.IntN(100))*time.Microsecond, time.Millisecond)
	if err != nil {
		return did, err
	}
	medium, err := fake.NewChannels(1+r.IntN(16), emu.NewSampler(latency, seed), 0)
	if err != nil {
		return did, err
	}
	device, err := fake.New(fake.Config{
		Size: rawblock.SizeFor(slots, o.Payload, o.Layout, block), Block: block, Medium: medium, Waiter: emu.Spin, Faults: faults,
	})
	if err != nil {
		return did, err
	}
	mood := &moody{Device: device}
	dev := rawblock.Device(mood)
	if r.IntN(3) > 0 {
		dev = moodyBatch{mood, fake.Batching{Device: device}}
	}
	lies := has(text, "write:torn") // the device says that it wrote, and didn't
	mood.calm.Store(true)
	s, err := formatted(dev, o)
	if err != nil {
		return did, err
	}
	mood.calm.Store(false)
	st := store{s, o.Payload}
	slots = st.Stats().Slots

	users := make([]storeUser, storeUsers)
	var wg sync.WaitGroup
	for i := range users {
		u := &users[i]
		*u = storeUser{store: st, id: i, r: rand.New(rand.NewPCG(seed, 100+uint64(i))), own: map[int]uint64{}, lies: lies}
		wg.Go(func() { u.run(ctx) })
	}
	wg.Wait()
	for i := range users {
		did.Right += users[i].did.Right
		did.Failed += users[i].did.Failed
		err = errors.Join(err, users[i].wrong)
	}
	if err != nil {
		_ = st.Close() // says less than what was found
		return did, err
	}
	if now := st.Stats(); now.InFlight != 0 || now.Free+now.Stored != slots {
		err = fmt.Errorf("%w: slots when nothing runs: %+v", ErrLeak, now)
	}
	closed := st.Close()
	if closed != nil && !errors.Is(closed, emu.ErrInjected) {
		err = errors.Join(err, fmt.Errorf("close: %w", closed))
	}
	if err != nil {
		return did, err
	}
	mood.calm.Store(true)
	if st.Store, err = rawblock.Open(context.Background(), dev, rawblock.Options{}); err != nil {
		return did, fmt.Errorf("open again: %w", err)
	}
	for i := range users {
		users[i].store = st
		// A checkpoint that failed, or that the device only says it wrote, leaves what
		// a crash would.
		if err := users[i].after(closed != nil || lies); err != nil {
			_ = st.Close()
			return did, fmt.Errorf("opened again: %w", err)
		}
	}
	if now := st.Stats(); now.InFlight != 0 || now.Free+now.Stored != slots {
		_ = st.Close()
		return did, fmt.Errorf("%w: slots after opening again: %+v", ErrLeak, now)
	}
	if err := st.Close(); err != nil && !errors.Is(err, emu.ErrInjected) {
		return did, err
	}
	return did, nil
}

// moody is a device that can be calm for a while, before and after the faults: it
// is then asked again until it does as it was told, or has failed a hundred times.
type moody struct {
	rawblock.Device
	calm atomic.Bool
}

func (m *moody) again(f func() error) (err error) {
	for range 100 {
		if err = f(); !m.calm.Load() || !errors.Is(err, emu.ErrInjected) {
			return err
		}
	}
	return err
}

func (m *moody) ReadAt(p []byte, off int64) (n int, err error) {
	err = m.again(func() (err error) { n, err = m.Device.ReadAt(p, off); return err })
	return n, err
}

func (m *moody) Write(ctx context.Context, w rawblock.IO) error {
	return m.again(func() error { return m.Device.Write(ctx, w) })
}

// moodyBatch is one that takes batches.
type moodyBatch struct {
	*moody
	batch rawblock.Batcher
}

func (m moodyBatch) WriteBatch(ctx context.Context, ws []rawblock.IO, submitted func()) error {
	return m.batch.WriteBatch(ctx, ws, submitted)
}

func (m moodyBatch) ReadBatch(ctx context.Context, rs []rawblock.IO) error {
	if !m.calm.Load() {
		return m.batch.ReadBatch(ctx, rs)
	}
	// One by one: a batch may be too long to be ever spared.
	var failed error
	for i := range rs {
		_, rs[i].Err = m.ReadAt(rs[i].Buf, rs[i].Off)
		failed = errors.Join(failed, rs[i].Err)
	}
	return failed
}

// formatted makes a store on a calm device. A write that the device only says it
// did may be the superblock's.
func formatted(dev rawblock.Device, o rawblock.Options) (*rawblock.Store, error) {
	var last error
	for range 50 {
		if last = rawblock.Format(context.Background(), dev, o); last != nil {
			return nil, last
		}
		var s *rawblock.Store
		if s, last = rawblock.Open(context.Background(), dev, o); last == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("no store after 50 tries: %w", last)
}

// storeUser is one user, who knows what its own keys hold.
type storeUser struct {
	store store
	id    int
	r     *rand.Rand
	own   map[int]uint64 // key number to the version that it holds
	next  uint64         // the last version that was put
	lies  bool
	did   Did
	wrong error
}

// key is one of the user's own, or from ownKeys on a shared one.
func (u *storeUser) key(n int) rawblock.Key {
	if n >= ownKeys {
		return rawblock.KeyOf(fmt.Sprint("shared ", n))
	}
	return rawblock.KeyOf(fmt.Sprint(u.id, " ", n))
}

// object is what a version of a key holds. It names both, so that any object can
// be checked alone.
func (u *storeUser) object(n int, version uint64) []byte {
	k := u.key(n)
	size := 24 + int(version*977+uint64(k[0]))%(u.store.payload-23)
	b := body(size, version*131+uint64(k[1]))
	copy(b, k[:])
	binary.LittleEndian.PutUint64(b[16:], version)
	return b
}

func (u *storeUser) fail(format string, args ...any) {
	if u.wrong == nil {
		u.wrong = fmt.Errorf("user %d: "+format, append([]any{u.id}, args...)...)
	}
}

func (u *storeUser) run(ctx context.Context) {
	for range 60 {
		if ctx.Err() != nil || u.wrong != nil {
			return
		}
		switch u.r.IntN(8) {
		case 0, 1, 2:
			u.put(ctx)
		case 3:
			u.remove()
		case 4:
			if err := u.store.Sync(ctx); err != nil {
				u.may(err, "sync")
			} else {
				u.did.Right++
			}
		default:
			u.get(ctx)
		}
	}
}

// may checks that a request was allowed to fail so.
func (u *storeUser) may(err error, what string) {
	u.did.Failed++
	switch {
	case errors.Is(err, emu.ErrInjected), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
	case errors.Is(err, rawblock.ErrFull), errors.Is(err, rawblock.ErrInFlight), errors.Is(err, rawblock.ErrDeleted):
	case u.lies && (errors.Is(err, rawblock.ErrHeader) || errors.Is(err, rawblock.ErrChecksum)):
	default:
		u.fail("%s: %w", what, err)
	}
}

// some are up to 16 numbers of keys, no two alike.
func (u *storeUser) some() []int { return u.r.Perm(ownKeys + sharedKeys)[:1+u.r.IntN(16)] }

func (u *storeUser) put(ctx context.Context) {
	ns := u.some()
	ks, objects, versions := make([]rawblock.Key, len(ns)), make([][]byte, len(ns)), make([]uint64, len(ns))
	for i, n := range ns {
		u.next++
		versions[i] = u.next*storeUsers + uint64(u.id)
		ks[i], objects[i] = u.key(n), u.object(n, versions[i])
	}
	if u.r.IntN(8) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(u.r.IntN(500))*time.Microsecond)
		defer cancel()
	}
	var errs []error
	each := u.r.IntN(2) == 0
	if each {
		errs = u.store.PutEach(ctx, ks, objects)
	} else if _, err := u.store.PutMany(ctx, ks, objects); err != nil {
		u.may(err, "put")
	} else {
		u.did.Right++
	}
	for i, n := range ns {
		if errs != nil && errs[i] != nil {
			u.may(errs[i], "put")
		}
		if n >= ownKeys {
			continue // another may have deleted it since
		}
		_, before := u.own[n]
		switch stored := u.store.Has(ks[i]); {
		case before && !stored:
			u.fail("key %d was stored, and a put lost it", n)
		case each && errs[i] == nil && !stored:
			u.fail("key %d was reported stored, and isn't", n)
		case !before && stored:
			if each && errs[i] != nil {
				u.fail("key %d: its put failed, and it is stored: %w", n, errs[i])
			}
			u.own[n] = versions[i]
		}
	}
}

func (u *storeUser) remove() {
	n := u.r.IntN(ownKeys + sharedKeys)
	err := u.store.Delete(u.key(n))
	_, mine := u.own[n]
	switch {
	case n >= ownKeys && errors.Is(err, rawblock.ErrNotFound):
	case err != nil && (mine || !errors.Is(err, rawblock.ErrNotFound)):
		u.fail("delete of key %d: %w", n, err)
	case err == nil && n < ownKeys && !mine:
		u.fail("deleted key %d, which wasn't stored", n)
	default:
		u.did.Right++
	}
	delete(u.own, n)
}

func (u *storeUser) get(ctx context.Context) {
	ns := u.some()
	ks := make([]rawblock.Key, len(ns))
	got := make([][]byte, len(ns))
	for i, n := range ns {
		ks[i] = u.key(n)
	}
	var errs []error
	if u.r.IntN(2) == 0 {
		errs = u.store.GetMany(ctx, ks, got)
	} else {
		ns = ns[:1]
		b, err := u.store.Get(ctx, ks[0], nil)
		got[0], errs = b, []error{err}
	}
	for i, n := range ns {
		u.check(n, got[i], errs[i], false)
	}
}

// check holds an answer against what the key has. With loose, deleted keys may be
// back and stored ones gone, as after a crash without a Sync.
func (u *storeUser) check(n int, got []byte, err error, loose bool) {
	version, stored := u.own[n]
	switch {
	case errors.Is(err, rawblock.ErrNotFound):
		if n < ownKeys && stored && !loose {
			u.fail("key %d is lost: version %d was stored", n, version)
		}
	case err != nil:
		u.may(err, fmt.Sprint("get of key ", n))
		return
	case len(got) < 24:
		u.fail("key %d has %d bytes, fewer than any version of it", n, len(got))
	default:
		found := binary.LittleEndian.Uint64(got[16:])
		switch {
		case !bytes.Equal(got, u.object(n, found)):
			u.fail("key %d has %d wrong bytes", n, len(got))
		case n >= ownKeys || loose:
		case !stored:
			u.fail("key %d has version %d, and was deleted or never stored", n, found)
		case found != version:
			u.fail("key %d has version %d, and %d was stored", n, found, version)
		}
	}
	u.did.Right++
}

// after looks at all own keys once the store was opened again.
func (u *storeUser) after(loose bool) error {
	for n := range ownKeys {
		got, err := u.store.Get(context.Background(), u.key(n), nil)
		u.check(n, got, err, loose)
	}
	return u.wrong
}
