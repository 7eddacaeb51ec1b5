package bubble_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/quick"
	"time"

	"latlab.example/common/bubble"
)

// arrival is a job for a CPU.
type arrival struct{ at, work time.Duration }

// finishes runs the jobs and returns when each ended, and the CPU's busy time.
func finishes(t *testing.T, cores int, jobs []arrival) (ends []time.Duration, busy time.Duration) {
	t.Helper()
	ends = make([]time.Duration, len(jobs))
	err := bubble.Run(t.Context(), func(ctx context.Context) error {
		cpu, start := bubble.NewCPU(cores), time.Now()
		var all sync.WaitGroup
		for i, j := range jobs {
			all.Go(func() {
				time.Sleep(j.at)
				if err := cpu.Use(ctx, j.work); err != nil {
					t.Error(err)
				}
				ends[i] = time.Since(start)
			})
		}
		all.Wait()
		busy = cpu.Busy()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ends, busy
}

// The ends are worked out by hand.
func TestCPUTable(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		cores int
		jobs  []arrival
		ends  []time.Duration
	}{
		"one alone":          {2, []arrival{{0, 10 * ms}}, []time.Duration{10 * ms}},
		"as many as cores":   {2, []arrival{{0, 10 * ms}, {0, 7 * ms}}, []time.Duration{10 * ms, 7 * ms}},
		"three on two cores": {2, []arrival{{0, 10 * ms}, {0, 10 * ms}, {0, 10 * ms}}, []time.Duration{15 * ms, 15 * ms, 15 * ms}},
		"four on one core":   {1, []arrival{{0, ms}, {0, ms}, {0, ms}, {0, ms}}, []time.Duration{4 * ms, 4 * ms, 4 * ms, 4 * ms}},
		// Until 6 both run at 1/2, then the long one alone has 10 - 3 = 7 left.
		"short and long": {1, []arrival{{0, 3 * ms}, {0, 10 * ms}}, []time.Duration{6 * ms, 13 * ms}},
		// The first has 6 left at 4. They share until 4 + 2*3 = 10: the second
		// is done, the first has 3 left, done at 13.
		"late and short": {1, []arrival{{0, 10 * ms}, {4 * ms, 3 * ms}}, []time.Duration{13 * ms, 10 * ms}},
		// Exactly when the first ends the second begins: no sharing.
		"end meets begin": {1, []arrival{{0, 5 * ms}, {5 * ms, 5 * ms}}, []time.Duration{5 * ms, 10 * ms}},
		// Three at rate 2/3 from 0 to 3 ms: each has got 2. A fourth: rate 1/2.
		// The first needs 2 more: ends at 7; all others have then got 2 more.
		// Left at 7: 6, 6 and 2 at rate 2/3: the fourth ends at 10, the others
		// have 4 left, at rate 1: 14.
		"rates 2/3, 1/2, 2/3, 1": {
			2,
			[]arrival{{0, 4 * ms}, {0, 10 * ms}, {0, 10 * ms}, {3 * ms, 4 * ms}},
			[]time.Duration{7 * ms, 14 * ms, 14 * ms, 10 * ms},
		},
		// Thirds of nanoseconds: each gets 1/3 ns in a ns; 7 ns of work take 21.
		"thirds": {1, []arrival{{0, 7}, {0, 7}, {0, 7}}, []time.Duration{21, 21, 21}},
		// At 1 ns each of three has 1/3. The fourth comes: rate 1/4. The three
		// need 2/3 more: 8/3 ns, so they end at 1 + 8/3 = 3.67, seen at 4. The
		// fourth has got 3/4 by 4, and needs 1/4 more, alone: seen at 5.
		"rounded up": {1, []arrival{{0, 1}, {0, 1}, {0, 1}, {1, 1}}, []time.Duration{4, 4, 4, 5}},
		"no work":    {1, []arrival{{0, 0}, {0, -1}}, []time.Duration{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				ends, _ := finishes(t, tt.cores, tt.jobs)
				if !slices.Equal(ends, tt.ends) {
					t.Fatalf("ends %v, want %v", ends, tt.ends)
				}
			}
		})
	}
}

// Sevenths and elevenths leave fractions that have no end in binary; work that
// ends at a whole nanosecond must be seen there all the same.
func TestCPUDoesNotDrift(t *testing.T) {
	const rounds = 2000
	err := bubble.Run(t.Context(), func(ctx context.Context) error {
		cpu, start := bubble.NewCPU(1), time.Now()
		var all sync.WaitGroup
		// A long job shares with 6 others, then with 10, in turn. In a round
		// it gets 1 of 7 ns and 1 of 11 ns.
		all.Go(func() {
			if err := cpu.Use(ctx, 2*rounds); err != nil {
				t.Error(err)
			}
			if d := time.Since(start); d != 18*rounds {
				t.Errorf("the long job took %d ns, want %d", d, 18*rounds)
			}
		})
		for range rounds {
			for _, others := range []int{6, 10} {
				for range others {
					all.Go(func() { _ = cpu.Use(ctx, 1) })
				}
				time.Sleep(time.Duration(others + 1))
			}
		}
		all.Wait()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Against a plain simulation with floats: each step goes to the next arrival
// or the next end.
func TestCPUAgainstReference(t *testing.T) {
	check := func(seed uint64) bool {
		r := rand.New(rand.NewPCG(seed, 1))
		cores := 1 + r.IntN(4)
		jobs := make([]arrival, 1+r.IntN(20))
		var work time.Duration
		for i := range jobs {
			jobs[i] = arrival{time.Duration(r.IntN(1000)), 1 + time.Duration(r.IntN(300))}
			work += jobs[i].work
		}
		got, busy := finishes(t, cores, jobs)
		want := reference(cores, jobs)
		for i := range jobs {
			// Ends are rounded up, and a job seen as done up to 1 ns late
			// slows the others by as much.
			if d := float64(got[i]) - want[i]; d < -0.01 || d > float64(len(jobs)) {
				t.Logf("seed %d: job %d of %v on %d cores ends at %v, want %.2f", seed, i, jobs, cores, got[i], want[i])
				return false
			}
		}
		if busy < work || busy > work+time.Duration(len(jobs)*cores) {
			t.Logf("seed %d: busy %v, work %v", seed, busy, work)
			return false
		}
		return true
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
}

func reference(cores int, jobs []arrival) []float64 {
	left, ends := make([]float64, len(jobs)), make([]float64, len(jobs))
	for i, j := range jobs {
		left[i] = float64(j.work)
	}
	for now := 0.0; ; {
		n, next := 0, math.Inf(1)
		for i, j := range jobs {
			if float64(j.at) > now {
				next = min(next, float64(j.at)-now)
			} else if ends[i] == 0 {
				n++
			}
		}
		rate := min(1, float64(cores)/float64(n))
		for i, j := range jobs {
			if float64(j.at) <= now && ends[i] == 0 {
				next = min(next, left[i]/rate)
			}
		}
		if math.IsInf(next, 1) {
			return ends
		}
		for i, j := range jobs {
			if float64(j.at) <= now && ends[i] == 0 {
				if left[i] -= next * rate; left[i] < 1e-9 {
					ends[i] = now + next
				}
			}
		}
		now += next
	}
}

func TestCPUContext(t *testing.T) {
	err := bubble.Run(t.Context(), func(ctx context.Context) error {
		cpu, start := bubble.NewCPU(1), time.Now()
		var all sync.WaitGroup
		all.Go(func() { // gives up at 4 ms, having got 2 ms
			short, cancel := context.WithTimeout(ctx, 4*time.Millisecond)
			defer cancel()
			if err := cpu.Use(short, time.Second); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
			}
			if err := cpu.Use(short, time.Nanosecond); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v after the end, want %v", err, context.DeadlineExceeded)
			}
		})
		if err := cpu.Use(ctx, 10*time.Millisecond); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != 12*time.Millisecond {
			t.Errorf("took %v, want 12ms: 2 ms went to the other", d)
		}
		all.Wait()
		if b := cpu.Busy(); b != 12*time.Millisecond {
			t.Errorf("busy %v, want 12ms", b)
		}
		time.Sleep(4 * time.Millisecond)
		if u := cpu.Utilization(); u != 0.75 {
			t.Errorf("utilization %v, want 12/16", u)
		}
		// Work and context end at one instant: the work is done.
		for range 200 {
			same, cancel := context.WithTimeout(ctx, time.Millisecond)
			if err := cpu.Use(same, time.Millisecond); err != nil {
				t.Fatalf("done in time, but %v", err)
			}
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNewCPUWithoutCores(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for a CPU without cores")
		}
	}()
	bubble.NewCPU(0)
}

// In an M/G/1 queue with processor sharing the mean response is S / (1 - rho)
// whatever the distribution of the work (Kleinrock, Queueing Systems II, 4.4).
func TestCPUIsProcessorSharing(t *testing.T) {
	const (
		service = time.Millisecond
		rho     = 0.7
		batches = 30
		perKind = 1500 // jobs in a batch
	)
	for name, draw := range map[string]func(*rand.Rand) float64{
		"exponential": func(r *rand.Rand) float64 { return r.ExpFloat64() },
		"constant":    func(*rand.Rand) float64 { return 1 },
		"two sizes": func(r *rand.Rand) float64 { // squared variation 4
			if r.IntN(5) == 0 {
				return 4.2
			}
			return 0.2
		},
	} {
		t.Run(name, func(t *testing.T) {
			responses := make([]time.Duration, (batches+1)*perKind) // the first batch is warm-up
			err := bubble.Run(t.Context(), func(ctx context.Context) error {
				r := rand.New(rand.NewPCG(1, 2))
				cpu := bubble.NewCPU(1)
				var all sync.WaitGroup
				for i := range responses {
					time.Sleep(time.Duration(r.ExpFloat64() * float64(service) / rho))
					work := time.Duration(draw(r) * float64(service))
					all.Go(func() {
						start := time.Now()
						if err := cpu.Use(ctx, work); err != nil {
							t.Error(err)
						}
						responses[i] = time.Since(start)
					})
				}
				all.Wait()
				if u := cpu.Utilization(); math.Abs(u-rho) > 0.03 {
					t.Errorf("utilization %.3f, want about %v", u, rho)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			mean, half := batchMeans(responses[perKind:], batches)
			want := service.Seconds() / (1 - rho)
			t.Logf("mean response %.4f ms +- %.4f, want %.4f", mean*1e3, half*1e3, want*1e3)
			if math.Abs(mean-want) > half {
				t.Errorf("mean response %.4f ms is more than %.4f from %.4f", mean*1e3, half*1e3, want*1e3)
			}
			if half > want/5 {
				t.Errorf("the interval of %.4f ms is too wide to tell anything", half*1e3)
			}
		})
	}
}

// batchMeans returns the mean in seconds and half the width of its interval
// with 99 % confidence; Student's t for 29 degrees of freedom.
func batchMeans(ds []time.Duration, batches int) (mean, half float64) {
	size := len(ds) / batches
	means := make([]float64, batches)
	for b := range means {
		for _, d := range ds[b*size : (b+1)*size] {
			means[b] += d.Seconds() / float64(size)
		}
		mean += means[b] / float64(batches)
	}
	var squares float64
	for _, m := range means {
		squares += (m - mean) * (m - mean)
	}
	return mean, 2.756 * math.Sqrt(squares/float64(batches-1)/float64(batches))
}

func ExampleCPU() {
	err := bubble.Run(context.Background(), func(ctx context.Context) error {
		cpu, start := bubble.NewCPU(2), time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				_ = cpu.Use(ctx, 10*time.Millisecond)
				fmt.Println(time.Since(start))
			})
		}
		all.Wait()
		fmt.Printf("busy %v, utilization %.0f %%\n", cpu.Busy(), 100*cpu.Utilization())
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// 15ms
	// 15ms
	// 15ms
	// busy 30ms, utilization 100 %
	// error: <nil>
}
