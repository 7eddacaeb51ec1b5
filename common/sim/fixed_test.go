package sim

import (
	"errors"
	"math"
	"testing"
	"testing/quick"
)

// near tells whether a is b but for a relative error.
func near(a, b, off float64) bool { return math.Abs(a-b) <= off*math.Abs(b) }

const unit = 1 << fixedBits

func TestTables(t *testing.T) {
	for i := range log2Table {
		f := float64(i) / 256
		if got, want := float64(log2Table[i])/unit, math.Log2(1+f); !near(got, want, 1e-14) {
			t.Errorf("log2Table[%d] is %v, want %v", i, got, want)
		}
		if got, want := float64(exp2Table[i])/unit, math.Exp2(f); !near(got, want, 1e-14) {
			t.Errorf("exp2Table[%d] is %v, want %v", i, got, want)
		}
	}
	for i := range tailTable {
		if got, want := math.Ldexp(float64(tailTable[i]), -64), math.Erfc(float64(i)/32/math.Sqrt2)/2; math.Abs(got-want) > 1e-12*want+1.0/(1<<63)/2 {
			t.Errorf("tailTable[%d] is %v, want %v", i, got, want)
		}
	}
}

func TestLogarithm(t *testing.T) {
	for _, u := range []uint64{1, 2, 3, 1 << 63, 1<<63 - 1, math.MaxUint64} {
		if got, want := float64(negLn(u))/unit, 64*math.Ln2-math.Log(float64(u)); math.Abs(got-want) > 3e-6 {
			t.Errorf("negLn(%d) = %v, want %v", u, got, want)
		}
	}
	property := func(u uint64, shift uint8) bool {
		u = u>>(shift%64) | 1
		return math.Abs(float64(negLn(u))/unit-(64*math.Ln2-math.Log(float64(u)))) <= 3e-6
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 10_000}); err != nil {
		t.Error(err)
	}
}

func TestPower(t *testing.T) {
	property := func(n uint32, e int64) bool {
		e %= 30 * unit
		got, want := float64(timesExp2(int64(n), e)), float64(n)*math.Exp2(float64(e)/unit)
		return math.Abs(got-want) <= 3e-6*want+1
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 10_000}); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct{ n, e, want int64 }{
		{1, 0, 1},
		{1, 55 * unit, 1 << 55},
		{1, 56 * unit, math.MaxInt64},
		{3, 62 * unit, math.MaxInt64},
		{math.MaxInt64, 127 * unit, math.MaxInt64},
		{math.MaxInt64, -62 * unit, 1},
		{math.MaxInt64, -64 * unit, 0},
		{math.MaxInt64, -100 * unit, 0},
	} {
		if got := timesExp2(tt.n, tt.e); got != tt.want {
			t.Errorf("%d x 2^%d = %d, want %d", tt.n, tt.e/unit, got, tt.want)
		}
	}
}

func TestNormal(t *testing.T) {
	const n = 400_000
	r := New(2).Rand("normal")
	var sum, squares, fourth float64
	for range n {
		z := float64(normal(r)) / unit
		sum += z
		squares += z * z
		fourth += z * z * z * z
	}
	if m := sum / n; math.Abs(m) > 4/math.Sqrt(n) {
		t.Errorf("mean %v", m)
	}
	if v := squares / n; math.Abs(v-1) > 4*math.Sqrt(2./n)+2e-4 {
		t.Errorf("variance %v", v)
	}
	if k := fourth / n; math.Abs(k-3) > 4*math.Sqrt(96./n)+2e-3 {
		t.Errorf("fourth moment %v, want 3", k)
	}
}

// The heap gives back what was put in, in order, whatever the mixture of both.
func TestAgenda(t *testing.T) {
	property := func(steps []int16) bool {
		var a agenda
		var last event
		n := 0
		for i, at := range steps {
			if at%3 == 0 && n > 0 {
				if a.hole {
					a.settle()
				}
				if a.events[0].before(last) {
					return false
				}
				last = a.events[0]
				a.hole = true
				n--
				continue
			}
			// As in a run, nothing is scheduled before what came last.
			a.push(event{at: last.at + int64(uint16(at)), seq: uint64(i) + 1})
			n++
		}
		if a.hole {
			a.settle()
		}
		return len(a.events) == n
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

func TestFifo(t *testing.T) {
	var q fifo[int]
	var want []int
	r := New(1).Rand("fifo")
	for i := range 10_000 {
		switch n := len(want); {
		case n > 0 && r.Chance(1, 3):
			if got := q.pop(); got != want[0] {
				t.Fatalf("pop %d, want %d", got, want[0])
			}
			want = want[1:]
		case n > 0 && r.Chance(1, 4):
			k := r.IntN(n)
			q.drop(k)
			want = append(want[:k:k], want[k+1:]...)
		default:
			q.push(i)
			want = append(want, i)
		}
		if q.n != len(want) {
			t.Fatalf("%d in the queue, want %d", q.n, len(want))
		}
	}
}

// A station that lost count of a process is found out.
func TestLittleFindsLostProcess(t *testing.T) {
	for name, lose := range map[string]func(l *Pool){
		"in the queue": func(l *Pool) { l.queue.n-- },
		"inside":       func(l *Pool) { l.held.here++ },
		"sound":        func(*Pool) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(1)
			l := s.Pool("pool", 1)
			s.Users(3, Constant(1000), func(p *Proc) {
				l.Acquire(p)
				p.Sleep(5000)
				l.Release(p)
			})
			s.At(9_500, func() { lose(l) })
			if err := s.Run(t.Context(), 0, 20_000); errors.Is(err, ErrInvariant) != (name != "sound") {
				t.Errorf("error %v", err)
			}
		})
	}
}
