package emu

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrLatency is wrapped by the errors of constructors and of [ParseLatency]
// for a profile that can't be.
var ErrLatency = errors.New("not a latency profile")

// A Latency says how long calls take. It is immutable and safe for concurrent
// use. String is in the notation of [ParseLatency].
type Latency interface {
	// Draw is the latency of the n-th use, from 0 on, of a key. It depends
	// on nothing else, so the order in which goroutines run doesn't change
	// it; and it uses integers only, so no machine changes it either. A
	// [Sampler] adds a seed and counts the uses.
	Draw(key, n uint64) time.Duration
	String() string
}

var (
	_ Latency = constant(0)
	_ Latency = exponential{}
	_ Latency = (*empirical)(nil)
)

type constant time.Duration

// Constant takes d each time. A negative d counts as zero.
func Constant(d time.Duration) Latency { return constant(max(d, 0)) }

func (c constant) Draw(_, _ uint64) time.Duration { return time.Duration(c) }
func (c constant) String() string                 { return formatDuration(time.Duration(c)) }

type exponential struct{ mean, limit time.Duration }

// CappedExponential is exponential with the given mean, and a draw beyond
// limit becomes limit. What is cut lowers the mean to
// mean x (1 - exp(-limit/mean)). The mean must be positive and limit no less.
func CappedExponential(mean, limit time.Duration) (Latency, error) {
	if mean <= 0 || limit < mean {
		return nil, fmt.Errorf("emu: exponential with mean %v and cap %v: %w: the mean must be positive and the cap no less than it", mean, limit, ErrLatency)
	}
	return exponential{mean, limit}, nil
}

func (e exponential) Draw(key, n uint64) time.Duration {
	u := uniform(key, n)
	if u == 0 {
		return e.limit
	}
	hi, lo := bits.Mul64(uint64(e.mean), negLn(u))
	if hi >= 1<<(lnBits-1) { // more than an int64 holds
		return e.limit
	}
	return min(time.Duration(hi<<(64-lnBits)|lo>>lnBits), e.limit)
}

func (e exponential) String() string {
	return fmt.Sprintf("exp(%s,cap=%s)", formatDuration(e.mean), formatDuration(e.limit))
}

// A Quantile is a point of an [Empirical] profile: Percent of the draws take
// at most Value.
type Quantile struct {
	Percent float64 // 0 to 100; kept to six decimals
	Value   time.Duration
}

// wholePercent is 100 % in the parts that a quantile is kept in.
const wholePercent = 100_000_000

// point is a Quantile with its percent in parts of 100 / wholePercent.
type point struct {
	part  uint64
	value time.Duration
}

// empirical is used by pointer, so that two profiles can be compared with ==.
type empirical struct{ points []point }

// Empirical follows a table of quantiles: linear between its points, and the
// first value below the first of them. Percents must rise, values must not
// fall or be negative, and the last percent must be 100, as a tail that wasn't
// stated would be invented.
func Empirical(table ...Quantile) (Latency, error) {
	points := make([]point, len(table))
	for i, q := range table {
		if !(q.Percent >= 0 && q.Percent <= 100) {
			return nil, fmt.Errorf("emu: quantile %v: %w: a percent is from 0 to 100", q.Percent, ErrLatency)
		}
		points[i] = point{uint64(math.Round(q.Percent * (wholePercent / 100))), q.Value}
	}
	return newEmpirical(points)
}

func newEmpirical(points []point) (Latency, error) {
	for i, p := range points {
		if p.value < 0 {
			return nil, fmt.Errorf("emu: %s=%v: %w: a value must not be negative", formatPart(p.part), p.value, ErrLatency)
		}
		if i > 0 && (p.part <= points[i-1].part || p.value < points[i-1].value) {
			return nil, fmt.Errorf("emu: %s=%v after %s=%v: %w: percents must rise and values must not fall",
				formatPart(p.part), p.value, formatPart(points[i-1].part), points[i-1].value, ErrLatency)
		}
	}
	if n := len(points); n == 0 || points[n-1].part != wholePercent {
		return nil, fmt.Errorf("emu: quantiles without p100: %w: the last must be p100, the longest latency", ErrLatency)
	}
	return &empirical{points}, nil
}

func (e *empirical) Draw(key, n uint64) time.Duration {
	part, _ := bits.Mul64(uniform(key, n), wholePercent)
	i, _ := slices.BinarySearchFunc(e.points, part, func(p point, part uint64) int {
		if p.part <= part {
			return -1
		}
		return 1
	})
	if i == 0 {
		return e.points[0].value
	}
	from, to := e.points[i-1], e.points[i] // part is below p100, so i is inside
	hi, lo := bits.Mul64(uint64(to.value-from.value), part-from.part)
	up, _ := bits.Div64(hi, lo, to.part-from.part)
	return from.value + time.Duration(up)
}

func (e *empirical) String() string {
	var b strings.Builder
	b.WriteString("quantiles(")
	for i, p := range e.points {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(formatPart(p.part) + "=" + formatDuration(p.value))
	}
	b.WriteByte(')')
	return b.String()
}

// A Sampler draws from a latency with a seed, and counts the uses of each key.
// It is safe for concurrent use. It keeps 16 bytes or so for each key.
type Sampler struct {
	latency Latency
	seed    uint64

	mu   sync.Mutex
	uses map[uint64]uint64 // guarded by mu
}

// NewSampler makes a sampler. The same seed gives each key the same draws.
func NewSampler(l Latency, seed uint64) *Sampler {
	return &Sampler{latency: l, seed: mix(seed + golden), uses: map[uint64]uint64{}}
}

// Next is the latency of the next use of key, which is a slot, a connection or
// [Key] of a name.
func (s *Sampler) Next(key uint64) time.Duration {
	s.mu.Lock()
	n := s.uses[key]
	s.uses[key] = n + 1
	s.mu.Unlock()
	return s.latency.Draw(s.seed^key, n)
}
