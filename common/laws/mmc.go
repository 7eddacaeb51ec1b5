package laws

import (
	"fmt"
	"math"
)

// MMC is an open station, M/M/c in Kendall's notation: requests arrive at
// random (Poisson), wait in one queue for one of Servers servers, and are served
// for exponential times.
type MMC struct {
	Servers int     // one or more
	PerSec  float64 // arrivals a second
	Service float64 // mean service time in seconds
}

// check says what can't be. All methods but ErlangB need a station that keeps
// up with its arrivals.
func (q MMC) check(stable bool) error {
	switch {
	case q.Servers < 1:
		return fmt.Errorf("laws: M/M/c with %d servers: %w: it needs one", q.Servers, ErrArgument)
	case !(q.PerSec >= 0) || !(q.Service >= 0) || math.IsInf(q.PerSec, 0) || math.IsInf(q.Service, 0):
		return fmt.Errorf("laws: M/M/c with %v arrivals a second of %v s: %w: both must be finite and not negative", q.PerSec, q.Service, ErrArgument)
	case stable && q.load() >= float64(q.Servers):
		return fmt.Errorf("laws: M/M/c with %v arrivals a second of %v s for %d servers: %w: its queue grows without end; the load of %.4g servers must be less than %d",
			q.PerSec, q.Service, q.Servers, ErrArgument, q.load(), q.Servers)
	}
	return nil
}

// load is the offered load in Erlang: the mean number of busy servers.
func (q MMC) load() float64 { return q.PerSec * q.Service }

// ErlangB is the share of arrivals lost when there is no queue (M/M/c/c), by the
// recursion B(k) = a B(k-1) / (k + a B(k-1)) (Kleinrock 1975, section 3.6; the
// recursion has no subtraction and can't overflow).
func (q MMC) ErlangB() (float64, error) {
	if err := q.check(false); err != nil {
		return 0, err
	}
	return q.erlangB(), nil
}

func (q MMC) erlangB() float64 {
	b, a := 1.0, q.load()
	for k := 1; k <= q.Servers; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b
}

// ErlangC is the probability that a request has to wait (Kleinrock 1975, section
// 3.5): C = B / (1 - rho (1 - B)).
func (q MMC) ErlangC() (float64, error) {
	if err := q.check(true); err != nil {
		return 0, err
	}
	b, rho := q.erlangB(), q.load()/float64(q.Servers)
	return b / (1 - rho*(1-b)), nil
}

// Wait is the mean time in the queue in seconds, those who don't wait included:
// W = C S / (c - a).
func (q MMC) Wait() (float64, error) {
	c, err := q.ErlangC()
	return c * q.drain(), err
}

// WaitQuantile is the time in seconds that a share p of the requests, from 0 to
// less than 1, waits at most. Waits are 0 with probability 1 - C and else
// exponential with mean S / (c - a).
func (q MMC) WaitQuantile(p float64) (float64, error) {
	if !(p >= 0 && p < 1) {
		return 0, fmt.Errorf("laws: quantile %v of a wait: %w: it is from 0 to less than 1", p, ErrArgument)
	}
	c, err := q.ErlangC()
	if err != nil || c <= 1-p {
		return 0, err
	}
	return q.drain() * math.Log(c/(1-p)), nil
}

// drain is the mean time between departures while all servers are busy, longer
// by the arrivals meanwhile.
func (q MMC) drain() float64 { return q.Service / (float64(q.Servers) - q.load()) }
