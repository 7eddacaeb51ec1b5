package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Dist is a distribution of times. All are immutable and draw with integers only, so
// that a seed gives the same on every machine. Their constructors panic when an
// argument can't be, since it is an error in the model.
type Dist interface {
	// Draw is one time, never negative.
	Draw(*Rand) time.Duration
	// Mean is the mean of what is drawn.
	Mean() time.Duration
	// String says what it is, with its parameters.
	String() string
}

type constant time.Duration

// Constant is always d, which must not be negative.
func Constant(d time.Duration) Dist {
	must(d >= 0, "constant of %v: it must not be negative", d)
	return constant(d)
}

func (c constant) Draw(*Rand) time.Duration { return time.Duration(c) }
func (c constant) Mean() time.Duration      { return time.Duration(c) }
func (c constant) String() string           { return time.Duration(c).String() }

type exponential time.Duration

// Exponential is exponential with the given mean, which must not be negative:
// the time between arrivals that know nothing of each other. The longest draw is
// 44 means.
func Exponential(mean time.Duration) Dist {
	must(mean >= 0, "exponential of mean %v: it must not be negative", mean)
	return exponential(mean)
}

func (e exponential) Draw(r *Rand) time.Duration {
	return time.Duration(times(int64(e), negLn(r.Uint64()|1)))
}
func (e exponential) Mean() time.Duration { return time.Duration(e) }
func (e exponential) String() string      { return fmt.Sprintf("exp(%v)", time.Duration(e)) }

type lognormal struct {
	median, p95 time.Duration
	sigma       int64 // of the binary logarithm
}

// z95 is the quantile 0.95 of the standard normal distribution, 1.6448536...
const z95 = 0x1a515209676abd6

// LogNormal is log-normal with the given median and 95th percentile: what many
// small factors make together. The median must be positive and the percentile no
// less.
func LogNormal(median, p95 time.Duration) Dist {
	must(median > 0 && p95 >= median, "log-normal of median %v and p95 %v: the median must be positive and the percentile no less", median, p95)
	return lognormal{median, p95, ratio(log2Ratio(int64(p95), int64(median)), z95)}
}

func (l lognormal) Draw(r *Rand) time.Duration {
	return time.Duration(timesExp2(int64(l.median), mulSigned(l.sigma, normal(r))))
}

// Mean is median x exp(s^2 / 2), with s the deviation of the natural logarithm.
func (l lognormal) Mean() time.Duration {
	// As a power of 2: sigma^2 ln(2) / 2.
	e := mul(mul(uint64(l.sigma), uint64(l.sigma)), ln2) / 2
	return time.Duration(timesExp2(int64(l.median), int64(e)))
}

func (l lognormal) String() string { return fmt.Sprintf("lognormal(p50=%v,p95=%v)", l.median, l.p95) }

// Part is a part of a [Mixture].
type Part struct {
	Weight int // against the sum of all weights
	Dist   Dist
}

type mixture struct {
	parts []Part
	total int
}

// Mixture draws from one of its parts, chosen by weight: hits and misses of a
// cache. Weights must not be negative, and one must be positive.
func Mixture(parts ...Part) Dist {
	m := mixture{parts: slices.Clone(parts)}
	for _, p := range parts {
		must(p.Weight >= 0 && p.Dist != nil, "mixture with a weight of %d of %v: it must not be negative, nor the part missing", p.Weight, p.Dist)
		m.total += p.Weight
	}
	must(m.total > 0, "mixture of %d parts whose weights sum to %d: the sum must be positive", len(parts), m.total)
	return m
}

func (m mixture) Draw(r *Rand) time.Duration {
	i := r.IntN(m.total)
	for _, p := range m.parts {
		if i -= p.Weight; i < 0 {
			return p.Dist.Draw(r)
		}
	}
	panic("sim: mixture without a part") // can't be: the weights sum to total
}

func (m mixture) Mean() time.Duration {
	var sum wide
	for _, p := range m.parts {
		sum.add(uint64(p.Dist.Mean()), uint64(p.Weight))
	}
	return time.Duration(sum.over(uint64(m.total)))
}

func (m mixture) String() string {
	parts := make([]string, len(m.parts))
	for i, p := range m.parts {
		parts[i] = fmt.Sprintf("%d*%v", p.Weight, p.Dist)
	}
	return "mix(" + strings.Join(parts, ",") + ")"
}

func must(ok bool, problem string, args ...any) {
	if !ok {
		panic("sim: " + fmt.Sprintf(problem, args...))
	}
}
