package load

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// Arrivals says when the requests of an open-loop load are due, whatever the
// system under test does. Implementations are values that any number of runs may
// use at once.
type Arrivals interface {
	// Due yields the times since the start of the run, none before the one that
	// it follows. The same seed gives the same times.
	Due(seed uint64) iter.Seq[time.Duration]
	// String names the process and its rate.
	String() string
	// Check tells what can't be, in an error that wraps [ErrConfig].
	Check() error
}

// Even spaces requests evenly: with a schedule of a constant rate, one every
// 1/rate from time 0 on; along a ramp, one each time that the integral of the
// rate grows by one.
func Even(perSec Schedule) Arrivals { return even{perSec} }

type even struct{ rate Schedule }

func (e even) Due(uint64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		c := clock{left: e.rate}
		for n := 0.0; ; n++ {
			if t, ok := c.at(n); !ok || !yield(t) {
				return
			}
		}
	}
}

func (e even) Check() error   { return e.rate.check() }
func (e even) String() string { return fmt.Sprintf("even(%v)", e.rate) }

// Poisson has requests come at random, each on its own, as many independent users
// make them: the gaps are exponential, and their rate follows the schedule.
func Poisson(perSec Schedule) Arrivals { return poisson{perSec} }

type poisson struct{ rate Schedule }

func (p poisson) Due(seed uint64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		// A process of rate 1, seen on a clock that runs with the rate.
		rng := rand.New(rand.NewPCG(seed, streamArrivals))
		c := clock{left: p.rate}
		for n := rng.ExpFloat64(); ; n += rng.ExpFloat64() {
			if t, ok := c.at(n); !ok || !yield(t) {
				return
			}
		}
	}
}

func (p poisson) Check() error   { return p.rate.check() }
func (p poisson) String() string { return fmt.Sprintf("poisson(%v)", p.rate) }
