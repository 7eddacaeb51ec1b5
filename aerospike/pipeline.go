package aerospike

import (
	"context"
	"errors"
	"fmt"
	"sync"

	as "github.com/aerospike/aerospike-client-go/v7"
	"golang.org/x/sync/semaphore"

	"latlab.example/common/metrics"
)

// Query is what a request asks for: user keys by set. A set may come twice, and
// a key more than once; two sets may share user keys.
type Query []SetKeys

// SetKeys are user keys of a set.
type SetKeys struct {
	Set  string
	Keys []string
}

// Result is the answer to a Query: its sets in their order.
type Result struct{ Sets []Set }

// Set is the part of an answer that belongs to one SetKeys: a row a key, in
// their order. Maps are there with form Maps, where a nil map is a row that
// wasn't found. With form Typed there are Columns and no Rows.
type Set struct {
	Name    string
	Rows    []Row
	Maps    []map[string]any
	Columns *Columns
}

// Len is the number of rows.
func (s *Set) Len() int {
	if s.Columns != nil {
		return s.Columns.N
	}
	return len(s.Rows)
}

// State says whether record i was found.
func (s *Set) State(i int) RowState {
	if s.Columns != nil {
		return s.Columns.States[i]
	}
	return s.Rows[i].state
}

// Options shape a Pipeline. The zero mode and form are the study's baselines,
// Gather and Maps.
type Options struct {
	Namespace string
	Reader    Reader
	Mode      Mode
	Form      Form
	Columns   []Spec            // of form Typed
	Limit     int               // reads under way at once; zero is no limit
	Order     Order             // of mode Single; Grouped if empty
	Recorder  *metrics.Recorder // of Stages, or of a set that begins with them; nil times nothing
}

// Pipeline answers queries.
type Pipeline struct {
	opt   Options
	limit *semaphore.Weighted // nil without a limit
}

// New makes a pipeline. It owns nothing that must be closed.
func New(o Options) (*Pipeline, error) {
	if o.Mode == "" {
		o.Mode = ModeToggle.Baseline()
	}
	if o.Form == "" {
		o.Form = FormToggle.Baseline()
	}
	if o.Order == "" {
		o.Order = OrderToggle.Baseline()
	}
	if _, err := OrderToggle.Parse(string(o.Order)); err != nil {
		return nil, fmt.Errorf("aerospike: %w: order: %w", ErrOptions, err)
	}
	if _, err := ModeToggle.Parse(string(o.Mode)); err != nil {
		return nil, fmt.Errorf("aerospike: %w: mode: %w", ErrOptions, err)
	}
	if _, err := FormToggle.Parse(string(o.Form)); err != nil {
		return nil, fmt.Errorf("aerospike: %w: form: %w", ErrOptions, err)
	}
	switch {
	case o.Reader == nil:
		return nil, fmt.Errorf("aerospike: %w: it needs a reader: Official, Lazy or an Executor", ErrOptions)
	case o.Namespace == "":
		return nil, fmt.Errorf("aerospike: %w: it needs a namespace", ErrOptions)
	case o.Form == Typed && len(o.Columns) == 0:
		return nil, fmt.Errorf("aerospike: %w: form %s needs Columns", ErrOptions, Typed)
	case o.Limit < 0:
		return nil, fmt.Errorf("aerospike: %w: a limit of %d reads", ErrOptions, o.Limit)
	case o.Recorder != nil && !begins(o.Recorder.Set()):
		return nil, fmt.Errorf("aerospike: %w: a recorder of stages %q; make it of aerospike.Stages, or of a set that begins with them", ErrOptions, o.Recorder.Set().Name())
	}
	if o.Recorder == nil {
		o.Recorder = metrics.NewRecorder(Stages, metrics.WithSwitch(false))
	}
	p := &Pipeline{opt: o}
	if o.Limit > 0 {
		p.limit = semaphore.NewWeighted(int64(o.Limit))
	}
	return p, nil
}

// Read answers a query. An error that wraps ErrPartial comes with a whole
// result, in which rows that couldn't be read are Failed.
func (p *Pipeline) Read(ctx context.Context, q Query) (Result, error) {
	req := p.opt.Recorder.Request()
	defer req.Finish()
	return p.ReadAt(ctx, NewSpan(req), q)
}

// ReadAt is Read within a request of the caller's, timed on its timeline.
func (p *Pipeline) ReadAt(ctx context.Context, at Span, q Query) (Result, error) {
	var sets []Set
	var err error
	switch p.opt.Mode {
	case Single:
		sets, err = p.single(ctx, at, q)
	case Sequential:
		sets, err = p.sequential(ctx, at, q)
	default:
		sets, err = p.gather(ctx, at, q)
	}
	if err != nil && !errors.Is(err, ErrPartial) {
		return Result{}, err
	}
	return Result{sets}, err
}

// parse makes the client's keys of one set.
func (p *Pipeline) parse(at Span, s SetKeys, dst []*as.Key) ([]*as.Key, error) {
	m := at.Start()
	defer func() { at.End(KeyParse, m) }()
	for _, user := range s.Keys {
		k, err := as.NewKey(p.opt.Namespace, s.Set, user)
		if err != nil {
			return nil, fmt.Errorf("aerospike: key %q of set %q: %w", user, s.Set, err)
		}
		dst = append(dst, k)
	}
	return dst, nil
}

// answer is what came for some keys: rows, or columns already.
type answer struct {
	rows    []Row
	columns *Columns
}

// cut is the part of n rows from row from on.
func (a *answer) cut(from, n int) answer {
	if a.columns != nil {
		return answer{columns: a.columns.cut(from, from+n)}
	}
	return answer{rows: a.rows[from : from+n : from+n]}
}

// fetch reads keys, within the limit. With straight, columns are filled without
// rows if the reader can.
func (p *Pipeline) fetch(ctx context.Context, at Span, keys []*as.Key, straight bool) (a answer, err error) {
	if p.limit != nil {
		m := at.Start()
		err := p.limit.Acquire(ctx, 1)
		at.End(LimiterWait, m)
		if err != nil {
			return a, fmt.Errorf("aerospike: waiting for one of %d reads: %w", p.opt.Limit, err)
		}
		defer p.limit.Release(1)
	}
	if cr := columnReader(p.opt.Reader); straight && cr != nil && p.opt.Form == Typed {
		a.columns, err = cr.ReadColumns(ctx, at, keys, p.opt.Columns)
		return a, err
	}
	a.rows, err = p.opt.Reader.Read(ctx, at, keys)
	return a, err
}

// convert gives a set's rows their form.
func (p *Pipeline) convert(at Span, name string, a answer) (Set, error) {
	rows := a.rows
	s := Set{Name: name, Rows: rows, Columns: a.columns}
	if s.Columns != nil {
		return s, nil
	}
	switch p.opt.Form {
	case Maps:
		m := at.Start()
		defer func() { at.End(ToMap, m) }()
		s.Maps = make([]map[string]any, len(rows))
		for i, r := range rows {
			bins, err := r.Map()
			if err != nil {
				return s, fmt.Errorf("set %q, row %d: %w", name, i, err)
			}
			s.Maps[i] = bins
		}
	case Typed:
		m := at.Start()
		defer func() { at.End(ToColumns, m) }()
		c, err := NewColumns(p.opt.Columns, rows)
		if err != nil {
			return s, fmt.Errorf("set %q: %w", name, err)
		}
		s.Columns, s.Rows = c, nil
	}
	return s, nil
}

// trouble keeps what went wrong with some rows, and tells of what ends a request.
type trouble struct{ partial []error }

func (t *trouble) ends(err error) bool {
	if errors.Is(err, ErrPartial) {
		t.partial = append(t.partial, err)
		return false
	}
	return err != nil
}

func (t *trouble) err() error { return errors.Join(t.partial...) }

func (p *Pipeline) single(ctx context.Context, at Span, q Query) ([]Set, error) {
	n := 0
	for _, s := range q {
		n += len(s.Keys)
	}
	keys := make([]*as.Key, 0, n)
	var err error
	for _, s := range q {
		if keys, err = p.parse(at, s, keys); err != nil {
			return nil, err
		}
	}
	var t trouble
	straight := p.opt.Order == Grouped // other rows must be put back in order before they are columns
	if !straight {
		m := at.Start()
		keys = mix(q, keys)
		at.End(KeyParse, m)
	}
	all, err := p.fetch(ctx, at, keys, straight)
	if t.ends(err) {
		return nil, err
	}
	// A user key alone doesn't say whose row it is: sets share keys.
	m := at.Start()
	if !straight {
		all.rows = unmix(q, all.rows)
	}
	sets, parts := make([]Set, len(q)), make([]answer, len(q))
	from := 0
	for i, s := range q {
		parts[i] = all.cut(from, len(s.Keys))
		from += len(s.Keys)
	}
	at.End(Merge, m)
	for i, s := range q {
		if sets[i], err = p.convert(at, s.Set, parts[i]); err != nil {
			return nil, err
		}
	}
	return sets, t.err()
}

func (p *Pipeline) sequential(ctx context.Context, at Span, q Query) ([]Set, error) {
	var t trouble
	sets := make([]Set, 0, len(q))
	for _, s := range q {
		keys, err := p.parse(at, s, make([]*as.Key, 0, len(s.Keys)))
		if err != nil {
			return nil, err
		}
		a, err := p.fetch(ctx, at, keys, true)
		if t.ends(err) {
			return nil, err
		}
		set, err := p.convert(at, s.Set, a)
		if err != nil {
			return nil, err
		}
		m := at.Start()
		sets = append(sets, set)
		at.End(Merge, m)
	}
	return sets, t.err()
}

// branch is one goroutine of a gather.
type branch struct {
	set  Set
	err  error
	done metrics.Mark
}

func (p *Pipeline) gather(ctx context.Context, at Span, q Query) ([]Set, error) {
	m := at.Start()
	branches := make([]branch, len(q))
	var wg sync.WaitGroup
	at.End(Setup, m)
	var failed error
	for i, s := range q {
		keys, err := p.parse(at, s, make([]*as.Key, 0, len(s.Keys)))
		if err != nil {
			failed = err
			break
		}
		m := at.Start()
		b, own := &branches[i], Span{at.req, at.req.Track()}
		wg.Add(1)
		at.End(Setup, m)
		started := own.Start()
		go func() {
			defer wg.Done()
			own.End(ScheduleDelay, started)
			var a answer
			a, b.err = p.fetch(ctx, own, keys, p.opt.Mode == Gather)
			b.set = Set{Name: s.Set, Rows: a.rows, Columns: a.columns}
			if p.opt.Mode == Gather && a.rows != nil {
				var err error
				if b.set, err = p.convert(own, s.Set, a); err != nil {
					b.err = err
				}
			}
			b.done = own.Start()
		}()
	}
	wg.Wait()
	var last metrics.Mark
	for i := range branches {
		last = max(last, branches[i].done)
	}
	at.End(ResumeDelay, last)
	if failed != nil {
		return nil, failed
	}
	return p.merge(at, branches)
}

// merge puts the sets together, and converts them where the branches didn't.
func (p *Pipeline) merge(at Span, branches []branch) ([]Set, error) {
	var t trouble
	m := at.Start()
	sets := make([]Set, len(branches))
	for i, b := range branches {
		if t.ends(b.err) {
			at.End(Merge, m)
			return nil, b.err
		}
		sets[i] = b.set
	}
	at.End(Merge, m)
	if p.opt.Mode == MergeGather {
		for i, s := range sets {
			var err error
			if sets[i], err = p.convert(at, s.Name, answer{rows: s.Rows}); err != nil {
				return nil, err
			}
		}
	}
	return sets, t.err()
}
