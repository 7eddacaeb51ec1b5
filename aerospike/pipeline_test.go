package aerospike_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/types"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/internal/aerotest"
	"latlab.example/common/emu"
	"latlab.example/common/metrics"
)

// pipelines calls f with every mode, reader and form.
func pipelines(t *testing.T, client *as.Client, f func(name string, o aerospike.Options)) {
	t.Helper()
	for name, reader := range readers(client, aerotest.Patient()) {
		for _, mode := range aerospike.ModeToggle.Levels() {
			for _, form := range aerospike.FormToggle.Levels() {
				f(fmt.Sprintf("%s, %s, %s", name, mode, form), aerospike.Options{
					Namespace: "test", Reader: reader, Mode: mode, Form: form, Columns: specs,
				})
			}
		}
		for _, form := range aerospike.FormToggle.Levels() {
			f(fmt.Sprintf("%s, mixed, %s", name, form), aerospike.Options{
				Namespace: "test", Reader: reader, Mode: aerospike.Single, Order: aerospike.Mixed, Form: form, Columns: specs,
			})
		}
	}
}

// value is a row's bin in whatever form it is; nil if it isn't there.
func value(t *testing.T, s aerospike.Set, row int, bin string) any {
	t.Helper()
	if s.Columns != nil {
		for _, c := range s.Columns.Cols {
			switch {
			case c.Bin != bin || !c.Valid[row]:
			case c.Kind == aerospike.Ints:
				return int(c.Ints[row])
			case c.Kind == aerospike.Floats:
				return c.Floats[row]
			default:
				return c.Texts[row]
			}
		}
		return nil
	}
	if s.Maps != nil {
		return s.Maps[row][bin]
	}
	m, err := s.Rows[row].Map()
	if err != nil {
		t.Fatal(err)
	}
	return m[bin]
}

// check compares an answer with what the records hold. Failed rows are let pass
// if failed allows them.
func check(t *testing.T, name string, q aerospike.Query, r aerospike.Result, failed bool) {
	t.Helper()
	if len(r.Sets) != len(q) {
		t.Fatalf("%s: %d sets, want %d", name, len(r.Sets), len(q))
	}
	for i, s := range r.Sets {
		if s.Name != q[i].Set || s.Len() != len(q[i].Keys) {
			t.Fatalf("%s: set %d is %s with %d rows", name, i, s.Name, s.Len())
		}
		for j, user := range q[i].Keys {
			there := s.Name != "empty" && hit(user)
			state := s.State(j)
			if state == aerospike.Failed && failed {
				continue
			}
			if (state == aerospike.Found) != there || state == aerospike.Failed {
				t.Fatalf("%s: %s/%s is in state %d, there: %v", name, s.Name, user, state, there)
			}
			for _, spec := range specs {
				var expected any
				if there {
					expected = want(s.Name, user, spec.Bin)
				}
				if got := value(t, s, j, spec.Bin); got != expected {
					t.Fatalf("%s: %s/%s bin %s is %v, want %v", name, s.Name, user, spec.Bin, got, expected)
				}
			}
		}
	}
}

// Every mode, reader and form gives the same right rows: sets that share user
// keys, keys that come twice, misses.
func TestEveryWayGivesTheSame(t *testing.T) {
	for _, cfg := range []fake.Config{{}, {Nodes: 3, Replicas: 2}, {Shuffle: true}, {Nodes: 3, Shuffle: true, Block: 2000}} {
		t.Run(fmt.Sprintf("%d nodes, shuffle %v", max(cfg.Nodes, 1), cfg.Shuffle), func(t *testing.T) {
			c := aerotest.Start(t, cfg)
			q := query(5, 40)
			records(t, c, q)
			client := aerotest.Connect(t, c.Addrs()[0])
			var first uint64
			pipelines(t, client, func(name string, o aerospike.Options) {
				p, err := aerospike.New(o)
				if err != nil {
					t.Fatal(err)
				}
				r, err := p.Read(t.Context(), q)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				check(t, name, q, r, false)
				sum, err := r.Checksum()
				if err != nil {
					t.Fatal(err)
				}
				if first == 0 {
					first = sum
				}
				if sum != first {
					t.Errorf("%s: checksum %x, want %x", name, sum, first)
				}
			})
		})
	}
}

// When a node is lost, the rows of the others come, the same in every mode, and
// the error names the node and a code.
func TestPartialFailure(t *testing.T) {
	faults, err := emu.ParseFaults("node1.batch:reset@every(1); node1.get:reset@every(1)")
	if err != nil {
		t.Fatal(err)
	}
	c := aerotest.Start(t, fake.Config{Nodes: 3, Faults: faults, Waiter: emu.Spin})
	q := query(4, 60)
	records(t, c, q)
	client := aerotest.Connect(t, c.Addrs()[0])
	sums := map[uint64][]string{}
	pipelines(t, client, func(name string, o aerospike.Options) {
		p, err := aerospike.New(o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Read(t.Context(), q)
		var node *aerospike.NodeError
		if !errors.Is(err, aerospike.ErrPartial) || !errors.As(err, &node) || node.Node != c.Names()[1] || node.Code == types.OK {
			t.Fatalf("%s: %v, want ErrPartial of node %s", name, err, c.Names()[1])
		}
		check(t, name, q, r, true)
		states := map[aerospike.RowState]int{}
		for _, s := range r.Sets {
			for i := range s.Len() {
				states[s.State(i)]++
			}
		}
		if states[aerospike.Found] == 0 || states[aerospike.Failed] == 0 || states[aerospike.Missing] == 0 {
			t.Errorf("%s: rows by state: %v", name, states)
		}
		sum, err := r.Checksum()
		if err != nil {
			t.Fatal(err)
		}
		sums[sum] = append(sums[sum], name)
	})
	if len(sums) != 1 {
		t.Errorf("answers differ: %v", sums)
	}
}

// A key that is alone on its node is read without a batch by the client, which drops
// that read's error. The row is asked for again, and not called missing.
func TestKeyAloneOnItsNode(t *testing.T) {
	q := aerospike.Query{{Set: "set_0", Keys: []string{"u1"}}, {Set: "set_1", Keys: []string{"u2", "u7", "u3"}}}
	for _, text := range []string{"get:error@every(1)", "get:reset@every(1)", "get:error@every(1); batch:error@every(1)"} {
		faults, err := emu.ParseFaults(text)
		if err != nil {
			t.Fatal(err)
		}
		c := aerotest.Start(t, fake.Config{Nodes: 4, Faults: faults, Waiter: emu.Spin})
		records(t, c, q)
		client := aerotest.Connect(t, c.Addrs()[0])
		for _, replica := range []as.ReplicaPolicy{as.SEQUENCE, as.RANDOM} {
			policy := aerotest.Patient()
			policy.ReplicaPolicy = replica
			for _, mode := range aerospike.ModeToggle.Levels() {
				p, err := aerospike.New(aerospike.Options{Namespace: "test", Reader: aerospike.Official{Client: client, Policy: policy}, Mode: mode})
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s, replica policy %v, %s", text, replica, mode)
				r, err := p.Read(t.Context(), q)
				var node *aerospike.NodeError
				// One read of all keys has two for some node.
				if mode != aerospike.Single && (!errors.As(err, &node) || !errors.Is(err, aerospike.ErrPartial)) {
					t.Errorf("%s: %v, want a node's failure", name, err)
				}
				check(t, name, q, r, err != nil)
			}
		}
	}
}

// Whatever goes wrong, and when: no wrong row, no panic, no goroutine left, and
// errors that name node and code.
func TestRandomFaults(t *testing.T) {
	seeds := 1000
	if testing.Short() {
		seeds = 50
	}
	q := query(3, 12)
	kinds := []string{"batch:error", "batch:reset", "batch:torn", "batch:short", "key:error", "batch:slow(1ms)", "node0.batch:reset", "get:error"}
	failed := 0
	for seed := range seeds {
		text := ""
		for i, k := range kinds {
			if (seed>>i)&1 == 1 || i == seed%len(kinds) {
				text += fmt.Sprintf("%s@p(0.1,seed=%d);", k, seed+i)
			}
		}
		faults, err := emu.ParseFaults(text[:len(text)-1])
		if err != nil {
			t.Fatal(err)
		}
		t.Run("", func(t *testing.T) {
			c := aerotest.Start(t, fake.Config{Nodes: 1 + seed%3, Seed: uint64(seed), Shuffle: seed%2 == 0, Faults: faults, Waiter: emu.Spin})
			records(t, c, q)
			client := aerotest.Connect(t, c.Addrs()[0])
			p := as.NewBatchPolicy()
			p.SocketTimeout, p.TotalTimeout = 5*time.Millisecond, 20*time.Millisecond
			names := aerospike.ReaderToggle.Levels()
			if names[seed%len(names)] == aerospike.UseOfficial {
				p.MaxRetries = 0 // BatchGet drops what fails in some retries
			}
			reader := readers(client, p)[names[seed%len(names)]]
			if seed%4 == 0 {
				pool := aerospike.NewExecutor(reader, 2)
				defer pool.Close()
				reader = pool
			}
			modes, forms := aerospike.ModeToggle.Levels(), aerospike.FormToggle.Levels()
			pipe, err := aerospike.New(aerospike.Options{
				Namespace: "test", Reader: reader, Mode: modes[seed/3%len(modes)], Form: forms[seed/5%len(forms)], Columns: specs, Limit: seed % 3,
			})
			if err != nil {
				t.Fatal(err)
			}
			for round := range 4 {
				change(t, c, seed, round)
				r, err := pipe.Read(t.Context(), q)
				if err != nil {
					failed++
					var node *aerospike.NodeError
					if !errors.Is(err, aerospike.ErrPartial) || !errors.As(err, &node) || node.Node == "" || node.Code == types.OK {
						t.Fatalf("seed %d, %s: %v doesn't name node and code", seed, faults, err)
					}
				}
				check(t, fmt.Sprintf("seed %d, %s", seed, faults), q, r, err != nil)
			}
		})
	}
	if failed == 0 {
		t.Error("no fault made an error: this test tests nothing")
	}
}

// change does to the cluster what seed and round say: a node leaves and returns,
// is called something else, or a partition can't be reached for a while.
func change(t *testing.T, c *fake.Cluster, seed, round int) {
	t.Helper()
	var err error
	node, partition := seed%len(c.Names()), seed*97%4096
	switch what := seed / 7 % 4; {
	case what == 1 && round == 1:
		err = c.Leave(node)
	case what == 1 && round == 3:
		err = c.Return(node)
	case what == 2 && round > 0:
		c.Rename(node, fmt.Sprintf("NODE%d", round))
	case what == 3:
		for i := range 1024 { // so many that the query has some
			c.Unavailable((partition+i)%4096, round%2 == 1)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Timelines are sound in every mode, and have the stages that exist there.
func TestStages(t *testing.T) {
	c := aerotest.Start(t, fake.Config{})
	q := query(3, 10)
	records(t, c, q)
	client := aerotest.Connect(t, c.Addrs()[0])
	base := []metrics.Stage{aerospike.KeyParse, aerospike.IO, aerospike.IntoObject, aerospike.Merge}
	straight := []metrics.Stage{aerospike.KeyParse, aerospike.IO, aerospike.ToColumns, aerospike.Merge} // no rows on the way
	spawned := []metrics.Stage{aerospike.Setup, aerospike.ScheduleDelay, aerospike.ResumeDelay}
	pooled := []metrics.Stage{aerospike.Setup, aerospike.SpawnBlockingDelay, aerospike.ResumeDelay}
	for _, test := range []struct {
		mode  aerospike.Mode
		form  aerospike.Form
		pool  bool
		limit int
		want  []metrics.Stage
	}{
		{aerospike.Single, aerospike.Handles, false, 0, base},
		{aerospike.Sequential, aerospike.Maps, false, 0, slices.Concat(base, []metrics.Stage{aerospike.ToMap})},
		{aerospike.Gather, aerospike.Typed, false, 2, slices.Concat(straight, spawned, []metrics.Stage{aerospike.LimiterWait})},
		{aerospike.Single, aerospike.Typed, true, 0, slices.Concat(straight, pooled)},
		{aerospike.MergeGather, aerospike.Typed, false, 0, slices.Concat(base, spawned, []metrics.Stage{aerospike.ToColumns})},
		{aerospike.MergeGather, aerospike.Maps, false, 0, slices.Concat(base, spawned, []metrics.Stage{aerospike.ToMap})},
		{aerospike.Single, aerospike.Handles, true, 0, slices.Concat(base, pooled)},
		{aerospike.Gather, aerospike.Handles, true, 0, slices.Concat(base, spawned, pooled)},
	} {
		var lines []metrics.Timeline
		rec := metrics.NewRecorder(aerospike.Stages, metrics.WithSwitch(true), metrics.WithTimelines(func(tl metrics.Timeline) { lines = append(lines, tl) }))
		var reader aerospike.Reader = aerospike.Lazy{Client: client, Policy: aerotest.Patient()}
		if test.pool {
			pool := aerospike.NewExecutor(reader, 2)
			defer pool.Close()
			reader = pool
		}
		p, err := aerospike.New(aerospike.Options{
			Namespace: "test", Reader: reader, Mode: test.mode, Form: test.form, Columns: specs, Limit: test.limit, Recorder: rec,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Read(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		rec.SetOn(false)
		if _, err := p.Read(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if len(lines) != 1 {
			t.Fatalf("%+v: %d timelines, want one: the second read was off", test, len(lines))
		}
		if err := lines[0].Check(); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
		for i, s := range rec.Snapshot().Stages {
			if got := s.Dist.Count() > 0; got != slices.Contains(test.want, metrics.Stage(i)) {
				t.Errorf("mode %s, pool %v: stage %s timed: %v", test.mode, test.pool, s.Name, got)
			}
		}
	}
}

// block is a reader that waits until it may go on.
type block struct{ enter, leave chan struct{} }

func (b block) Read(_ context.Context, _ aerospike.Span, keys []*as.Key) ([]aerospike.Row, error) {
	b.enter <- struct{}{}
	<-b.leave
	return make([]aerospike.Row, len(keys)), nil
}

// At most Limit reads are under way; one that waits ends with its context.
func TestLimit(t *testing.T) {
	b := block{make(chan struct{}), make(chan struct{})}
	p, err := aerospike.New(aerospike.Options{Namespace: "test", Reader: b, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := p.Read(t.Context(), query(0, 0)); err != nil {
			t.Error(err)
		}
	})
	<-b.enter
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Read(ctx, query(0, 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	b.leave <- struct{}{}
	wg.Wait()
}

func TestExecutor(t *testing.T) {
	b := block{make(chan struct{}), make(chan struct{})}
	e := aerospike.NewExecutor(b, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		if rows, err := e.Read(t.Context(), aerospike.Span{}, make([]*as.Key, 3)); err != nil || len(rows) != 3 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	})
	<-b.enter
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Read(ctx, aerospike.Span{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a second read with one worker: %v, want context.Canceled", err)
	}
	b.leave <- struct{}{}
	wg.Wait()
	e.Close()
	e.Close()
	if _, err := e.Read(t.Context(), aerospike.Span{}, nil); !errors.Is(err, aerospike.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	reader := aerospike.Lazy{}
	other := metrics.NewRecorder(metrics.NewStageSet("other", "one"))
	for _, o := range []aerospike.Options{
		{Namespace: "test"},
		{Reader: reader},
		{Namespace: "test", Reader: reader, Mode: "all"},
		{Namespace: "test", Reader: reader, Form: "xml"},
		{Namespace: "test", Reader: reader, Order: "random"},
		{Namespace: "test", Reader: reader, Form: aerospike.Typed},
		{Namespace: "test", Reader: reader, Limit: -1},
		{Namespace: "test", Reader: reader, Recorder: other},
	} {
		if _, err := aerospike.New(o); !errors.Is(err, aerospike.ErrOptions) {
			t.Errorf("%+v: %v, want ErrOptions", o, err)
		}
	}
}

// A bin that isn't of its column's kind is an error that names it, with either
// reader; an unknown namespace names a code.
func TestErrorsSayWhat(t *testing.T) {
	c := aerotest.Start(t, fake.Config{})
	q := query(1, 5)
	records(t, c, q)
	client := aerotest.Connect(t, c.Addrs()[0])
	for name, reader := range readers(client, aerotest.Patient()) {
		for _, kind := range []aerospike.Kind{aerospike.Floats, aerospike.Texts} {
			p, err := aerospike.New(aerospike.Options{
				Namespace: "test", Reader: reader, Form: aerospike.Typed, Columns: []aerospike.Spec{{Bin: "i0", Kind: kind}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Read(t.Context(), q); !errors.Is(err, aerospike.ErrColumn) {
				t.Errorf("%s: %v, want ErrColumn", name, err)
			}
		}
		p, err := aerospike.New(aerospike.Options{Namespace: "none", Reader: reader, Mode: aerospike.Single})
		if err != nil {
			t.Fatal(err)
		}
		var node *aerospike.NodeError
		if _, err := p.Read(t.Context(), q); !errors.As(err, &node) || node.Code != types.INVALID_NAMESPACE {
			t.Errorf("%s: %v, want a NodeError with code %d", name, err, types.INVALID_NAMESPACE)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Read(ctx, q); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
	}
}

// Projections leave the other bins out.
func TestBins(t *testing.T) {
	c := aerotest.Start(t, fake.Config{})
	q := query(1, 5)
	records(t, c, q)
	client := aerotest.Connect(t, c.Addrs()[0])
	for _, reader := range []aerospike.Reader{
		aerospike.Official{Client: client, Bins: []string{"i1", "s0"}},
		aerospike.Official{Client: client, Bins: []string{"i1", "s0"}, Operate: true},
		aerospike.Lazy{Client: client, Bins: []string{"i1", "s0"}},
	} {
		p, err := aerospike.New(aerospike.Options{Namespace: "test", Reader: reader})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Read(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Sets[0].Maps[0]
		if len(got) != 2 || got["i1"] != want("set_0", "u0", "i1") || got["s0"] != "set_0/u0" {
			t.Errorf("%T: %v", reader, got)
		}
	}
}
