package laws

import (
	"fmt"
	"math"
)

// Unlimited servers make a station a delay: no request waits there for another.
const Unlimited = math.MaxInt

// Station is a place where requests spend time.
type Station struct {
	Name string
	// Demand is the seconds of service that a request needs here in all: the
	// mean service time of a visit times the visits a request.
	Demand float64
	// Servers work side by side for one queue: 1 for a core or a log sink, the
	// size of a connection pool, or [Unlimited].
	Servers int
}

// Closed is a closed queueing network with one class of users: each of Users
// thinks, in the mean for Think seconds, sends a request, and waits for its
// answer. Its solution is exact for exponential service times and any
// distribution of think time (a product-form network; Lazowska 1984, chapter 19).
type Closed struct {
	Users    int     // one or more
	Think    float64 // seconds
	Stations []Station
}

// Point is the mean behaviour of a network with so many users.
type Point struct {
	Users    int            `json:"users"`
	PerSec   float64        `json:"per_sec"`    // X, requests a second
	Response float64        `json:"response_s"` // R, seconds from a request to its answer
	Stations []StationPoint `json:"stations"`
}

// StationPoint is what goes on at one station.
type StationPoint struct {
	Name        string  `json:"name"`
	InFlight    float64 `json:"in_flight"`   // mean number of requests there, waiting or served
	Residence   float64 `json:"residence_s"` // seconds that a request spends there in all, waiting included
	Utilisation float64 `json:"utilisation"` // mean share of busy servers; 0 for Unlimited servers
}

// Solve gives the behaviour with c.Users users. See [Closed.Curve].
func (c Closed) Solve() (Point, error) {
	curve, err := c.Curve()
	if err != nil {
		return Point{}, err
	}
	return curve[len(curve)-1], nil
}

// Curve gives the behaviour with 1, 2, ... c.Users users: the load curve whose
// knee one looks for.
//
// It gives what exact mean-value analysis gives (Reiser and Lavenberg 1980), by
// the convolution algorithm (Buzen 1973). The usual recursion of mean-value
// analysis for several servers takes the probability of an idle station as one
// minus all others, and so loses all digits near saturation and turns negative.
// Convolution only adds and multiplies positive numbers: with G(n) the
// normalising constant of n users, X = G(n-1)/G(n), and the mean number at a
// station sums j f(j) G'(n-j)/G(n), where f are the station's factors
// D^j / (min(1,c) ... min(j,c)) and G' is the constant of the network without it.
// The numbers carry an exponent of their own ([Closed] with 10,000 users neither
// overflows nor loses digits). The time grows as Users x Users for each pair of
// stations with several servers: a few milliseconds for 1000 users.
func (c Closed) Curve() ([]Point, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	all := c.constants(-1)
	curve := make([]Point, c.Users)
	for n := range curve {
		curve[n] = Point{
			Users:    n + 1,
			PerSec:   all[n].over(all[n+1]),
			Stations: make([]StationPoint, len(c.Stations)),
		}
	}
	for k, s := range c.Stations {
		inFlight := c.inFlight(k, curve, all)
		for n := range curve {
			p := &curve[n]
			at := StationPoint{Name: s.Name, InFlight: inFlight[n], Residence: inFlight[n] / p.PerSec}
			if s.Servers != Unlimited {
				at.Utilisation = p.PerSec * s.Demand / float64(s.Servers)
			}
			p.Response += at.Residence
			p.Stations[k] = at
		}
	}
	return curve, nil
}

func (c Closed) check() error {
	if c.Users < 1 {
		return fmt.Errorf("laws: closed network with %d users: %w: it needs one", c.Users, ErrArgument)
	}
	if !(c.Think >= 0) || math.IsInf(c.Think, 0) {
		return fmt.Errorf("laws: closed network with a think time of %v s: %w: it must be finite and not negative", c.Think, ErrArgument)
	}
	total := c.Think
	for _, s := range c.Stations {
		if !(s.Demand >= 0) || math.IsInf(s.Demand, 0) {
			return fmt.Errorf("laws: station %q with a demand of %v s: %w: it must be finite and not negative", s.Name, s.Demand, ErrArgument)
		}
		if s.Servers < 1 {
			return fmt.Errorf("laws: station %q with %d servers: %w: it needs one, or laws.Unlimited", s.Name, s.Servers, ErrArgument)
		}
		total += s.Demand
	}
	if total == 0 {
		return fmt.Errorf("laws: closed network without think time and demand: %w: throughput would be infinite", ErrArgument)
	}
	return nil
}

// constants are G(0) ... G(Users) of the network without station skip.
func (c Closed) constants(skip int) []scaled {
	delay := c.Think // the delays act as one
	for k, s := range c.Stations {
		if k != skip && s.Servers >= c.Users {
			delay += s.Demand
		}
	}
	g := c.factors(Station{Demand: delay, Servers: Unlimited})
	for k, s := range c.Stations {
		switch {
		case k == skip || s.Servers >= c.Users:
		case s.Servers == 1: // the convolution with D^j, in one pass
			d := scale(s.Demand)
			for n := 1; n <= c.Users; n++ {
				g[n] = g[n].add(d.mul(g[n-1]))
			}
		default:
			g = convolve(g, c.factors(s))
		}
	}
	return g
}

// factors are f(0) ... f(Users) of a station.
func (c Closed) factors(s Station) []scaled {
	f := make([]scaled, c.Users+1)
	f[0] = scale(1)
	for j := 1; j <= c.Users; j++ {
		f[j] = f[j-1].mul(scale(s.Demand / float64(min(j, s.Servers))))
	}
	return f
}

// inFlight is the mean number at station k for 1, 2, ... users.
func (c Closed) inFlight(k int, curve []Point, all []scaled) []float64 {
	s := c.Stations[k]
	q := make([]float64, c.Users)
	switch {
	case s.Servers >= c.Users: // nobody waits: Little's law
		for n := range q {
			q[n] = curve[n].PerSec * s.Demand
		}
	case s.Servers == 1: // the arrival theorem
		before := 0.0
		for n := range q {
			q[n] = curve[n].PerSec * s.Demand * (1 + before)
			before = q[n]
		}
	default:
		f := c.factors(s)
		for j := range f {
			f[j] = f[j].mul(scale(float64(j)))
		}
		sum := convolve(f, c.constants(k))
		for n := range q {
			q[n] = sum[n+1].over(all[n+1])
		}
	}
	return q
}
