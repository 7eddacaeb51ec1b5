package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/logger"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/wire"
	"latlab.example/common/emu"
)

// bins of the records: one of each kind.
var bins = []aerospike.Spec{{Bin: "int", Kind: aerospike.Ints}, {Bin: "float", Kind: aerospike.Floats}, {Bin: "text", Kind: aerospike.Texts}}

// record is what a set has under a user's key, or nothing.
func record(set, user string) (number int, there bool) {
	for _, c := range set + "/" + user {
		number = number*31 + int(c)
	}
	number &= 1<<40 - 1
	return number, number%5 > 0
}

func text(number int) string { return "text of " + strconv.Itoa(number) }

// Aerospike has users read from a cluster in memory by every reader and mode,
// with the client that talks to real ones, while its nodes fail, leave and return.
func Aerospike(ctx context.Context, seed uint64) (did Did, err error) {
	logger.Logger.SetLevel(logger.OFF) // faults make the client talk
	r := rand.New(rand.NewPCG(seed, 2))
	faults, rules, err := schedule(r, 4,
		"batch:error", "batch:reset", "batch:short", "batch:torn", "batch:slow(3ms)", "node0.batch:error", "node0.batch:reset", "key:error", "key:slow(1ms)",
		"get:error", "get:reset")
	if err != nil {
		return did, err
	}
	cfg := fake.Config{
		Nodes: 1 + r.IntN(4), Request: time.Duration(r.IntN(200)) * time.Microsecond, Key: time.Duration(r.IntN(3)) * time.Microsecond,
		RoundTrip: time.Duration(r.IntN(300)) * time.Microsecond, Workers: r.IntN(4), Waiter: emu.Spin, Shuffle: r.IntN(2) == 0,
		Block: 1 << (10 + r.IntN(8)), Seed: seed, Faults: faults,
	}
	cfg.Replicas = 1 + r.IntN(cfg.Nodes)
	away := cfg.Nodes > 1 && r.IntN(3) == 0
	defer func() {
		if err != nil {
			err = fmt.Errorf("%d nodes, %d replicas, away %v, block %d, shuffle %v, faults %q: %w", cfg.Nodes, cfg.Replicas, away, cfg.Block, cfg.Shuffle, rules, err)
		}
	}()
	cluster, err := fake.New(cfg)
	if err != nil {
		return did, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	const sets, users = 4, 30
	for s := range sets {
		for u := range users {
			if err := put(cluster, setName(s), userName(u)); err != nil {
				return did, err
			}
		}
	}
	client, err := connect(cluster.Addrs()[0])
	if err != nil {
		return did, err
	}
	defer client.Close()

	readers := make([]rowReader, 4)
	var wg sync.WaitGroup
	for i := range readers {
		rd := &readers[i]
		*rd = rowReader{client: client, r: rand.New(rand.NewPCG(seed, 200+uint64(i))), sets: sets, users: users, calm: rules == "" && !away}
		wg.Go(func() { rd.run(ctx) })
	}
	var moved error
	if away {
		moved = cluster.Leave(cfg.Nodes - 1)
		_ = emu.Wait(ctx, emu.Sleep, 30*time.Millisecond)
		moved = errors.Join(moved, cluster.Return(cfg.Nodes-1))
	}
	wg.Wait()
	err = moved
	for i := range readers {
		did.Right += readers[i].did.Right
		did.Failed += readers[i].did.Failed
		err = errors.Join(err, readers[i].wrong)
	}
	return did, err
}

func setName(n int) string  { return "set_" + strconv.Itoa(n) }
func userName(n int) string { return "u" + strconv.Itoa(n) }

func put(c *fake.Cluster, set, user string) error {
	number, there := record(set, user)
	if !there {
		return nil
	}
	k, aerr := as.NewKey("test", set, user)
	if aerr != nil {
		return aerr
	}
	return c.Put("test", wire.Digest(k.Digest()),
		fake.Bin{Name: "int", Value: number}, fake.Bin{Name: "float", Value: float64(number) / 3}, fake.Bin{Name: "text", Value: text(number)})
}

func connect(addr string) (*as.Client, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	p := as.NewClientPolicy()
	p.TendInterval = 20 * time.Millisecond
	c, aerr := as.NewClientWithPolicy(p, host, n)
	if aerr != nil {
		return nil, aerr
	}
	// Enough connections for all users: the client fails rather than wait for one.
	if _, aerr := c.WarmUp(64); aerr != nil {
		c.Close()
		return nil, aerr
	}
	return c, nil
}

// rowReader is one user of the cluster.
type rowReader struct {
	client      *as.Client
	r           *rand.Rand
	sets, users int
	calm        bool // nothing may fail
	did         Did
	wrong       error
}

func (u *rowReader) run(ctx context.Context) {
	p := as.NewBatchPolicy()
	p.TotalTimeout, p.SocketTimeout, p.MaxRetries = 10*time.Second, 10*time.Second, 1
	if !u.calm {
		p.TotalTimeout, p.SocketTimeout = 600*time.Millisecond, 150*time.Millisecond
	}
	once := *p
	once.MaxRetries = 0 // BatchGet drops what fails in some retries
	all := []aerospike.Reader{
		aerospike.Official{Client: u.client, Policy: &once}, aerospike.Official{Client: u.client, Policy: p, Operate: true}, aerospike.Lazy{Client: u.client, Policy: p},
	}
	for range 10 {
		if ctx.Err() != nil || u.wrong != nil {
			return
		}
		o := aerospike.Options{
			Namespace: "test", Reader: pick(u.r, all), Mode: pick(u.r, aerospike.ModeToggle.Levels()), Form: pick(u.r, aerospike.FormToggle.Levels()),
			Columns: bins, Limit: u.r.IntN(4), Order: pick(u.r, []aerospike.Order{aerospike.Grouped, aerospike.Mixed}),
		}
		pipe, err := aerospike.New(o)
		if err != nil {
			u.wrong = err
			return
		}
		q := u.query()
		got, err := pipe.Read(ctx, q)
		switch partial := errors.Is(err, aerospike.ErrPartial); {
		case err != nil && u.calm:
			u.wrong = fmt.Errorf("%s, %s, %T: failed without a fault: %w", o.Mode, o.Form, o.Reader, err)
		case err != nil && !partial:
			u.did.Failed++
		default:
			if partial {
				u.did.Failed++
			}
			if err := u.check(q, got, partial); err != nil {
				u.wrong = fmt.Errorf("%s, %s, %T: %w", o.Mode, o.Form, o.Reader, err)
			}
		}
	}
}

// query asks for keys that sets share, some of them twice, and some that nobody has.
func (u *rowReader) query() (q aerospike.Query) {
	for range 1 + u.r.IntN(u.sets) {
		k := aerospike.SetKeys{Set: setName(u.r.IntN(u.sets))}
		for range 1 + u.r.IntN(40) {
			k.Keys = append(k.Keys, userName(u.r.IntN(u.users)))
		}
		q = append(q, k)
	}
	return q
}

func (u *rowReader) check(q aerospike.Query, got aerospike.Result, partial bool) error {
	if len(got.Sets) != len(q) {
		return fmt.Errorf("%d sets for %d", len(got.Sets), len(q))
	}
	for i, asked := range q {
		s := &got.Sets[i]
		if s.Name != asked.Set || s.Len() != len(asked.Keys) {
			return fmt.Errorf("%d rows of set %s for %d of %s", s.Len(), s.Name, len(asked.Keys), asked.Set)
		}
		for j, user := range asked.Keys {
			number, there := record(asked.Set, user)
			switch state := s.State(j); {
			case state == aerospike.Failed && partial:
				continue
			case state == aerospike.Missing && !there:
			case state == aerospike.Found && there:
				if err := holds(s, j, number); err != nil {
					return fmt.Errorf("set %s, user %s: %w", asked.Set, user, err)
				}
			default:
				return fmt.Errorf("set %s, user %s: state %d, error %v; stored: %v", asked.Set, user, state, partial, there)
			}
			u.did.Right++
		}
	}
	return nil
}

// holds looks at the values of a row, in whichever form it came.
func holds(s *aerospike.Set, row, number int) error {
	var got []any
	if s.Columns != nil {
		c := s.Columns.Cols
		got = []any{int(c[0].Ints[row]), c[1].Floats[row], c[2].Texts[row]}
	} else {
		m, err := s.Rows[row].Map()
		if err != nil {
			return err
		}
		if s.Maps != nil {
			m = s.Maps[row]
		}
		got = []any{m["int"], m["float"], m["text"]}
	}
	for i, want := range []any{number, float64(number) / 3, text(number)} {
		if got[i] != want {
			return fmt.Errorf("bin %s is %v, stored was %v", bins[i].Bin, got[i], want)
		}
	}
	return nil
}
