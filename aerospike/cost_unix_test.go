//go:build unix

package aerospike_test

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike"
)

// The benchmarks here compare two things in one run, turn by turn, against a
// server in a process of its own. Their ns/op is that of one turn of both.

// cpu is this process's CPU time in seconds.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// benchKeysOf makes the client's keys of a query.
func benchKeysOf(b *testing.B, q aerospike.Query) (keys []*as.Key) {
	b.Helper()
	for _, s := range q {
		for _, user := range s.Keys {
			k, err := as.NewKey("test", s.Set, user)
			if err != nil {
				b.Fatal(err)
			}
			keys = append(keys, k)
		}
	}
	return keys
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

// BenchmarkCostPipeline compares the pipeline, its stages off, with the same
// keys made and the client's BatchGet called by hand: pipeline/bare is the ratio
// of the medians.
func BenchmarkCostPipeline(b *testing.B) {
	addr, stop := separate(b)
	defer stop()
	client := connect(b, addr)
	q := query(benchSets, benchKeys)
	p, err := aerospike.New(aerospike.Options{
		Namespace: "test", Reader: aerospike.Official{Client: client}, Mode: aerospike.Single, Form: aerospike.Handles,
	})
	if err != nil {
		b.Fatal(err)
	}
	var bare, piped []time.Duration
	turns := []func() error{
		func() error {
			start := time.Now()
			recs, err := client.BatchGet(nil, benchKeysOf(b, q))
			bare = append(bare, time.Since(start))
			if err != nil {
				return err
			}
			runtime.KeepAlive(recs)
			return nil
		},
		func() error {
			start := time.Now()
			_, err := p.Read(b.Context(), q)
			piped = append(piped, time.Since(start))
			return err
		},
	}
	i := 0
	for b.Loop() {
		for j := range turns {
			if err := turns[(i+j)%2](); err != nil {
				b.Fatal(err)
			}
		}
		i++
	}
	b.ReportMetric(median(piped)/median(bare), "pipeline/bare")
}

// BenchmarkCostFake gives the fake server's CPU for batches of 1800 keys as a
// part of the client's.
func BenchmarkCostFake(b *testing.B) {
	addr, stop := separate(b)
	client := connect(b, addr)
	keys := benchKeysOf(b, query(benchSets, benchKeys))
	before := cpu(b)
	n := 0
	for b.Loop() {
		if _, err := client.BatchGet(nil, keys); err != nil {
			b.Fatal(err)
		}
		n++
	}
	used := cpu(b) - before
	b.ReportMetric(stop()/used, "fake-cpu/client-cpu")
	b.ReportMetric(used/float64(n)*1e6, "client-us/op")
}

// BenchmarkCostReaders fills the same columns from the official reader and from
// the lazy one, keys made beforehand: ratios of client CPU and of allocations.
func BenchmarkCostReaders(b *testing.B) {
	addr, stop := separate(b)
	defer stop()
	client := connect(b, addr)
	keys := benchKeysOf(b, query(benchSets, benchKeys))
	type side struct {
		reader  aerospike.Reader
		cpu     float64
		mallocs uint64
		columns *aerospike.Columns
	}
	sides := []*side{{reader: aerospike.Official{Client: client}}, {reader: aerospike.Lazy{Client: client}}}
	run := func(s *side) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		from := cpu(b)
		const reps = 20 // the clock of CPU time is coarse
		for range reps {
			rows, err := s.reader.Read(b.Context(), aerospike.Span{}, keys)
			if err == nil {
				s.columns, err = aerospike.NewColumns(specs, rows)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		s.cpu += cpu(b) - from
		runtime.ReadMemStats(&after)
		s.mallocs += after.Mallocs - before.Mallocs
	}
	i := 0
	for b.Loop() {
		run(sides[i%2])
		run(sides[(i+1)%2])
		i++
	}
	for c := range specs {
		x, y := sides[0].columns.Cols[c], sides[1].columns.Cols[c]
		if !slices.Equal(x.Valid, y.Valid) || !slices.Equal(x.Ints, y.Ints) || !slices.Equal(x.Floats, y.Floats) || !slices.Equal(x.Texts, y.Texts) {
			b.Fatalf("column %s differs", x.Bin)
		}
	}
	b.ReportMetric(sides[1].cpu/sides[0].cpu, "lazy-cpu/official")
	b.ReportMetric(float64(sides[1].mallocs)/float64(sides[0].mallocs), "lazy-allocs/official")
}
