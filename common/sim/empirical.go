package sim

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Quantile is a point of an [Empirical] distribution: Percent of the draws take
// at most Value.
type Quantile struct {
	Percent float64 // 0 to 100; kept to six decimals
	Value   time.Duration
}

// wholePercent is 100 % in the parts that a quantile is kept in.
const wholePercent = 100_000_000

type point struct {
	part  uint64 // of wholePercent
	value time.Duration
}

type empirical struct{ points []point }

// Empirical follows a table of quantiles, such as measured or published ones:
// linear between its points, and the first value below the first of them.
// Percents must rise and values must neither fall nor be negative. The last
// percent must be 100, as a tail that wasn't stated would be invented.
func Empirical(table ...Quantile) Dist {
	e := &empirical{}
	last := point{}
	for i, q := range table {
		must(q.Percent >= 0 && q.Percent <= 100, "quantile of %v %%: a percent is from 0 to 100", q.Percent)
		p := point{uint64(math.Round(q.Percent * (wholePercent / 100))), q.Value}
		must(q.Value >= last.value && (i == 0 || p.part > last.part),
			"quantile %v%%=%v after %v: percents must rise, values must neither fall nor be negative", q.Percent, q.Value, e)
		e.points = append(e.points, p)
		last = p
	}
	must(last.part == wholePercent, "quantiles %v: the last must be of 100 %%, the longest time", e)
	return e
}

func (e *empirical) Draw(r *Rand) time.Duration {
	part, frac := bits.Mul64(r.Uint64(), wholePercent)
	i := 0
	for e.points[i].part <= part { // part is less than the last one's
		i++
	}
	if i == 0 {
		return e.points[0].value
	}
	from, to := e.points[i-1], e.points[i]
	// How far part, with its fraction, is on the way, in 2^-64.
	way, _ := bits.Div64(part-from.part, frac, to.part-from.part)
	up, _ := bits.Mul64(uint64(to.value-from.value), way)
	return from.value + time.Duration(up)
}

func (e *empirical) Mean() time.Duration {
	var sum wide
	last := point{value: e.points[0].value}
	for _, p := range e.points {
		sum.add(uint64(last.value)+uint64(p.value), p.part-last.part)
		last = p
	}
	return time.Duration(sum.over(2 * wholePercent))
}

func (e *empirical) String() string {
	parts := make([]string, len(e.points))
	for i, p := range e.points {
		parts[i] = "p" + strconv.FormatFloat(float64(p.part)/(wholePercent/100), 'f', -1, 64) + "=" + p.value.String()
	}
	return fmt.Sprintf("quantiles(%s)", strings.Join(parts, ","))
}

// wide is a sum of products.
type wide struct{ hi, lo uint64 }

func (w *wide) add(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi += hi + carry
}

// over is the quotient, rounded down. It must have room.
func (w *wide) over(n uint64) uint64 {
	quo, _ := bits.Div64(w.hi, w.lo, n)
	return quo
}
