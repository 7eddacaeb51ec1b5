//go:build unix

package aerospike_test

import (
	"reflect"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike"
	"latlab.example/aerospike/internal/aerotest"
)

// The benchmarks here compare two things in one run, turn by turn, against a
// server in a process of its own. Their ns/op is that of one turn of both.

// use is CPU time in seconds: all of it, and the kernel's part.
type use struct{ all, kernel float64 }

// cpu is what this process used so far.
func cpu(b *testing.B) use {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	kernel := time.Duration(u.Stime.Nano()).Seconds()
	return use{time.Duration(u.Utime.Nano()).Seconds() + kernel, kernel}
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

// ratios is the median, over the turns, of what one took over what another took
// in the same turn: what slows a turn down as a whole isn't in it.
func ratios(one, other []time.Duration) float64 {
	all := make([]float64, len(one))
	for i := range one {
		all[i] = float64(one[i]) / float64(other[i])
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkCostPipeline compares the pipeline, its stages off, with the same
// keys made and the client's BatchGet called by hand: pipeline/bare is the median
// of the turns' ratios. A turn has the bare call twice, so bare/bare is what the
// host's noise makes of no difference at all: believe the one only if the other
// is 1.
func BenchmarkCostPipeline(b *testing.B) {
	addr, stop := separate(b)
	defer stop()
	client := aerotest.Connect(b, addr)
	q := query(benchSets, benchKeys)
	policy := aerotest.Patient()
	p, err := aerospike.New(aerospike.Options{
		Namespace: "test", Reader: aerospike.Official{Client: client, Policy: policy}, Mode: aerospike.Single, Form: aerospike.Handles,
	})
	if err != nil {
		b.Fatal(err)
	}
	bare := func() error {
		recs, err := client.BatchGet(policy, benchKeysOf(b, q))
		runtime.KeepAlive(recs)
		if err != nil {
			return err
		}
		return nil
	}
	piped := func() error {
		_, err := p.Read(b.Context(), q)
		return err
	}
	turns := [3]func() error{bare, piped, bare}
	var took [3][]time.Duration
	i := 0
	for b.Loop() {
		for j := range turns {
			k := (i + j) % 3 // each comes first as often as the others
			start := time.Now()
			if err := turns[k](); err != nil {
				b.Fatal(err)
			}
			took[k] = append(took[k], time.Since(start))
		}
		i++
	}
	b.ReportMetric(ratios(took[1], took[0]), "pipeline/bare")
	b.ReportMetric(ratios(took[2], took[0]), "bare/bare")
}

// BenchmarkCostFake gives the fake server's CPU for batches of 1800 keys as a
// part of the client's.
func BenchmarkCostFake(b *testing.B) {
	addr, stop := separate(b)
	client := aerotest.Connect(b, addr)
	keys := benchKeysOf(b, query(benchSets, benchKeys))
	before := cpu(b).all
	n := 0
	for b.Loop() {
		if _, err := client.BatchGet(aerotest.Patient(), keys); err != nil {
			b.Fatal(err)
		}
		n++
	}
	used := cpu(b).all - before
	b.ReportMetric(stop()/used, "fake-cpu/client-cpu")
	b.ReportMetric(used/float64(n)*1e6, "client-us/op")
}

// BenchmarkCostReaders fills the same columns with the official reader and with
// the lazy one, keys made beforehand: ratios of client CPU and of allocations,
// and how much of the lazy reader's CPU is the kernel's.
func BenchmarkCostReaders(b *testing.B) {
	addr, stop := separate(b)
	defer stop()
	client := aerotest.Connect(b, addr)
	keys := benchKeysOf(b, query(benchSets, benchKeys))
	official, lazy := aerospike.Official{Client: client, Policy: aerotest.Patient()}, aerospike.Lazy{Client: client, Policy: aerotest.Patient()}
	type side struct {
		columns func() (*aerospike.Columns, error)
		used    use
		mallocs uint64
		last    *aerospike.Columns
	}
	sides := [2]*side{
		{columns: func() (*aerospike.Columns, error) {
			rows, err := official.Read(b.Context(), aerospike.Span{}, keys)
			if err != nil {
				return nil, err
			}
			return aerospike.NewColumns(specs, rows)
		}},
		{columns: func() (*aerospike.Columns, error) {
			return lazy.ReadColumns(b.Context(), aerospike.Span{}, keys, specs)
		}},
	}
	const reps = 20 // the clock of CPU time is coarse
	n := 0
	run := func(s *side) {
		runtime.GC() // neither pays for the other's garbage
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		from := cpu(b)
		for range reps {
			var err error
			if s.last, err = s.columns(); err != nil {
				b.Fatal(err)
			}
		}
		to := cpu(b)
		s.used.all += to.all - from.all
		s.used.kernel += to.kernel - from.kernel
		runtime.ReadMemStats(&after)
		s.mallocs += after.Mallocs - before.Mallocs
	}
	for b.Loop() {
		run(sides[n%2])
		run(sides[(n+1)%2])
		n++
	}
	if !reflect.DeepEqual(sides[0].last, sides[1].last) {
		b.Fatal("the readers' columns differ")
	}
	b.ReportMetric(sides[1].used.all/sides[0].used.all, "lazy-cpu/official")
	b.ReportMetric(float64(sides[1].mallocs)/float64(sides[0].mallocs), "lazy-allocs/official")
	b.ReportMetric(sides[1].used.kernel/sides[1].used.all, "kernel/lazy-cpu")
	b.ReportMetric(sides[1].used.all/float64(n*reps)*1e6, "lazy-cpu-us/op")
	b.ReportMetric(sides[0].used.all/float64(n*reps)*1e6, "official-cpu-us/op")
}
