package param

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Point is a value of a swept parameter, and the table that has it.
type Point struct {
	Value int64
	Table Table
}

const points = 9 // of a sweep in equal steps

// Sweep lists the table at values of one parameter from one end to the other,
// both included: doublings if the far end is eight times the near one or more,
// else eight equal steps, or fewer where the integers are. from may be the larger
// end. The error wraps ErrParam or ErrValue.
func (t Table) Sweep(name string, from, to int64) ([]Point, error) {
	lo, hi := min(from, to), max(from, to)
	var values []int64
	if lo > 0 && hi/8 >= lo {
		for v := lo; v < hi; v *= 2 {
			values = append(values, v)
			if v > math.MaxInt64/2 {
				break
			}
		}
		values = append(values, hi)
	} else {
		for i := range int64(points) {
			v := lo + (hi-lo)/(points-1)*i + (hi-lo)%(points-1)*i/(points-1)
			values = append(values, v)
		}
	}
	values = slices.Compact(values)
	if from > to {
		slices.Reverse(values)
	}
	var all []Point
	for _, v := range values {
		changed, err := t.Set(name, v)
		if err != nil {
			return nil, err
		}
		all = append(all, Point{v, changed})
	}
	return all, nil
}

// SweepText is Sweep with a range as on the command line: a..b.
func (t Table) SweepText(name, between string) ([]Point, error) {
	a, b, ok := strings.Cut(between, "..")
	if !ok {
		return nil, fmt.Errorf("%s=%s: %w: give two ends, as a..b", name, between, ErrValue)
	}
	from, err := t.Parse(name, a)
	if err != nil {
		return nil, err
	}
	to, err := t.Parse(name, b)
	if err != nil {
		return nil, err
	}
	return t.Sweep(name, from, to)
}

// Flip is a place where an answer changes along a parameter: it is From at the
// value Below, and To at the value Above.
type Flip[V comparable] struct {
	Param        Param // with its value of the table that was swept
	Below, Above int64
	From, To     V
}

// String says it in a sentence.
func (f Flip[V]) String() string {
	u := f.Param.Unit
	return fmt.Sprintf("%s: %v up to %s, %v from %s (the model has %s, %v)", f.Param.Name, f.From, u.format(f.Below), f.To, u.format(f.Above), f.Param.Text(), f.Param.Source.Kind)
}

// Flips asks for the answer at each point of Sweep from lo to hi, and narrows each
// change down to a hundredth of the value or to neighbouring integers. An answer
// that changes and changes back between two points isn't seen. Errors are those
// of Sweep and of answer.
func Flips[V comparable](t Table, name string, lo, hi int64, answer func(Table) (V, error)) ([]Flip[V], error) {
	swept, err := t.Sweep(name, min(lo, hi), max(lo, hi))
	if err != nil {
		return nil, err
	}
	base, err := t.Get(name)
	if err != nil {
		return nil, err
	}
	ask := func(v int64) (V, error) {
		at, err := t.Set(name, v)
		if err != nil {
			var none V
			return none, err
		}
		return answer(at)
	}
	var flips []Flip[V]
	var before V
	for i, p := range swept {
		now, err := answer(p.Table)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, base.Unit.format(p.Value), err)
		}
		if i > 0 && now != before {
			f := Flip[V]{Param: base, Below: swept[i-1].Value, Above: p.Value, From: before, To: now}
			for f.Above-f.Below > max(1, f.Above/100) {
				mid := f.Below + (f.Above-f.Below)/2
				v, err := ask(mid)
				if err != nil {
					return nil, fmt.Errorf("%s=%s: %w", name, base.Unit.format(mid), err)
				}
				if v == f.From {
					f.Below = mid
				} else {
					f.Above, f.To = mid, v
				}
			}
			flips = append(flips, f)
		}
		before = now
	}
	return flips, nil
}

// Bar is one parameter of a tornado: the outcome with the parameter at either end
// of its range, all others as they are.
type Bar struct {
	Param      Param
	AtLo, AtHi float64
}

// Span is how far the parameter moves the outcome.
func (b Bar) Span() float64 { return math.Abs(b.AtHi - b.AtLo) }

// Tornado asks for the outcome with each parameter that has a range at both ends
// of it, and lists the parameters, the one that moves it most first. base is the
// outcome of the table as it is. The error is the outcome's.
func Tornado(t Table, outcome func(Table) (float64, error)) (base float64, bars []Bar, err error) {
	if base, err = outcome(t); err != nil {
		return 0, nil, err
	}
	for _, p := range t.params {
		if p.Lo == p.Hi {
			continue
		}
		b := Bar{Param: p}
		for _, end := range []struct {
			value int64
			to    *float64
		}{{p.Lo, &b.AtLo}, {p.Hi, &b.AtHi}} {
			at, err := t.Set(p.Name, end.value)
			if err == nil {
				*end.to, err = outcome(at)
			}
			if err != nil {
				return 0, nil, fmt.Errorf("%s=%s: %w", p.Name, p.Unit.format(end.value), err)
			}
		}
		bars = append(bars, b)
	}
	slices.SortStableFunc(bars, func(a, b Bar) int { return cmp.Compare(b.Span(), a.Span()) })
	return base, bars, nil
}
