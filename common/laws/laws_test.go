package laws

import (
	"errors"
	"math"
	"math/big"
	"testing"
	"testing/quick"
)

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s: got %.15g, want %.15g", what, got, want)
	}
}

func TestOperationalLaws(t *testing.T) {
	x, r := Exact(46.27), Exact(0.010)
	near(t, "in flight", InFlight(x, r).Mid(), 0.4627, 1e-12)
	near(t, "cycle", Response(Exact(150), x, Exact(0)).Mid(), 3.2418, 1e-4)
	near(t, "think", Think(Exact(150), x, r).Mid(), 3.2318, 1e-4)
	near(t, "users", Users(x, r, Exact(1.5)).Mid(), 69.87, 1e-4)
	near(t, "utilisation", Utilisation(Exact(41.6), Exact(0.0435), 1).Mid(), 1.8096, 1e-4)
	near(t, "visits", StationRate(Exact(9), Exact(4)).Mid(), 36, 1e-12)
}

// Every value of the operands gives a result inside the interval.
func TestIntervalCoversItsValues(t *testing.T) {
	pick := func(i Interval, share uint8) float64 { return i.Lo + (i.Hi-i.Lo)*float64(share)/255 }
	property := func(a, b, c, d int16, s, u uint8) bool {
		x := Interval{float64(min(a, b)), float64(max(a, b))}
		y := Interval{float64(min(c, d)), float64(max(c, d))}
		v, w := pick(x, s), pick(y, u)
		in := func(i Interval, value float64) bool {
			room := 1e-9 * (1 + math.Abs(value))
			return i.Lo-room <= value && value <= i.Hi+room
		}
		return in(x.Add(y), v+w) && in(x.Sub(y), v-w) && in(x.Mul(y), v*w) && (w == 0 || in(x.Div(y), v/w)) &&
			x.Contains(v) && x.Overlaps(Exact(v))
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

func TestCommonLoad(t *testing.T) {
	first := Row{Exact(24.40), Exact(1.393)}
	second := Row{Exact(42.56), Exact(0.152)}
	third := Row{Exact(46.27), Exact(0.010)}
	users, think, err := CommonLoad(first, second)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "users of rows 1 and 2", users.Mid(), 70.97, 1e-3)
	near(t, "think time of rows 1 and 2", think.Mid(), 1.5154, 1e-3)
	users, think, err = CommonLoad(second, third)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "users of rows 2 and 3", users.Mid(), 75.37, 1e-3)
	near(t, "think time of rows 2 and 3", think.Mid(), 1.619, 1e-3)
	// What it gives obeys the law for both rows.
	near(t, "row 2", Users(second.PerSec, second.Response, think).Mid(), users.Mid(), 1e-9)
	near(t, "row 3", Users(third.PerSec, third.Response, think).Mid(), users.Mid(), 1e-9)
	if _, _, err := CommonLoad(first, first); !errors.Is(err, ErrArgument) {
		t.Errorf("two equal rows: got %v", err)
	}
}

// Values of printed Erlang tables.
func TestErlang(t *testing.T) {
	for _, c := range []struct {
		servers int
		load    float64
		b       float64
	}{{1, 1, 0.5}, {2, 1, 0.2}, {10, 5, 0.0183846}, {5, 3, 0.110054}, {20, 12.03, 0.01}} {
		b, err := MMC{c.servers, c.load, 1}.ErlangB()
		if err != nil {
			t.Fatal(err)
		}
		near(t, "Erlang B", b, c.b, 1e-3)
	}
	for _, c := range []struct {
		servers int
		load, c float64
	}{{2, 1, 1. / 3}, {3, 2, 4. / 9}, {4, 3, 0.509434}} {
		got, err := MMC{c.servers, c.load, 1}.ErlangC()
		if err != nil {
			t.Fatal(err)
		}
		near(t, "Erlang C", got, c.c, 1e-5)
	}
}

func TestMM1(t *testing.T) {
	q := MMC{1, 80, 0.010}
	wait, err := q.Wait()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean wait rho S / (1 - rho)", wait, 0.8*0.010/0.2, 1e-12)
	for p, want := range map[float64]float64{0.1: 0, 0.2: 0, 0.5: 0.05 * math.Log(0.8/0.5), 0.99: 0.05 * math.Log(80)} {
		got, err := q.WaitQuantile(p)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "quantile", got, want, 1e-9)
	}
}

func TestMMCRefuses(t *testing.T) {
	for _, q := range []MMC{{0, 1, 1}, {1, -1, 1}, {1, math.NaN(), 1}, {2, 2, 1}, {1, 1, math.Inf(1)}} {
		if _, err := q.Wait(); !errors.Is(err, ErrArgument) {
			t.Errorf("%+v: got %v", q, err)
		}
	}
	if b, err := (MMC{1, 3, 1}).ErlangB(); err != nil || b != 0.75 {
		t.Errorf("loss doesn't need a stable queue: got %v, %v", b, err)
	}
	if _, err := (MMC{1, 1, 0.5}).WaitQuantile(1); !errors.Is(err, ErrArgument) {
		t.Errorf("the quantile of 1 has no bound: got %v", err)
	}
}

// repairmanExact sums the birth-death chain in rational numbers.
func repairmanExact(users int, think, service *big.Rat, servers int) (perSec, response float64) {
	weight, total, served, there := big.NewRat(1, 1), new(big.Rat), new(big.Rat), new(big.Rat)
	for k := range users + 1 {
		total.Add(total, weight)
		served.Add(served, new(big.Rat).Mul(weight, big.NewRat(int64(min(k, servers)), 1)))
		there.Add(there, new(big.Rat).Mul(weight, big.NewRat(int64(k), 1)))
		step := new(big.Rat).Mul(service, big.NewRat(int64(users-k), int64(min(k+1, servers))))
		weight = new(big.Rat).Mul(weight, step.Quo(step, think))
	}
	x := new(big.Rat).Quo(served, new(big.Rat).Mul(total, service))
	r := new(big.Rat).Quo(there, new(big.Rat).Mul(total, x))
	perSec, _ = x.Float64()
	response, _ = r.Float64()
	return perSec, response
}

// Convolution, the closed form in floating point, and the chain in rational
// numbers agree, idle and saturated.
func TestRepairman(t *testing.T) {
	for _, c := range []struct {
		users, servers        int
		thinkMilli, holdMilli int64
	}{
		{1, 1, 1500, 106},
		{150, 1, 1500, 106},
		{150, 5, 1500, 106},
		{150, 10, 1500, 106},
		{150, 15, 1500, 106},
		{150, 149, 1500, 106},
		{150, 150, 1500, 106},
		{150, 500, 1500, 106},
		{300, 12, 10, 500},
		{40, 3, 1_000_000, 1},
	} {
		wantX, wantR := repairmanExact(c.users, big.NewRat(c.thinkMilli, 1000), big.NewRat(c.holdMilli, 1000), c.servers)
		think, hold := float64(c.thinkMilli)/1000, float64(c.holdMilli)/1000
		x, r, err := Repairman(c.users, think, hold, c.servers)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "closed form: throughput", x, wantX, 1e-12)
		near(t, "closed form: response", r, wantR, 1e-12)
		p, err := Closed{c.users, think, []Station{{"pool", hold, c.servers}}}.Solve()
		if err != nil {
			t.Fatal(err)
		}
		near(t, "network: throughput", p.PerSec, wantX, 1e-12)
		near(t, "network: response", p.Response, wantR, 1e-12)
		near(t, "network: utilisation", p.Stations[0].Utilisation, wantX*hold/float64(c.servers), 1e-12)
	}
}

// The spatial study's load against pools of several sizes, to the digits given.
func TestPoolSizes(t *testing.T) {
	for _, c := range []struct {
		users, pool int
		wantMs, tol float64
	}{
		{150, 5, 1680.0, 0.05},
		{150, 10, 182.1, 0.05},
		{150, 15, 107.5, 0.05},
		{150, 30, 106.0, 0.05},
		{210, 10, 726, 0.5},
		{210, 15, 137, 0.5},
	} {
		p, err := Closed{c.users, 1.5, []Station{{"pool", 0.106, c.pool}}}.Solve()
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Response * 1000; math.Abs(got-c.wantMs) > c.tol {
			t.Errorf("%d users, pool of %d: got %.2f ms, want %v", c.users, c.pool, got, c.wantMs)
		}
	}
}

// With ever more users of ever longer think time, arrivals become random: the
// limit for infinitely many users, extrapolated from finite ones (Richardson),
// is the open station's.
func TestClosedTendsToMMC(t *testing.T) {
	for _, q := range []MMC{{5, 25, 0.1}, {1, 5, 0.1}, {10, 42.56, 0.1}} {
		wait, err := q.Wait()
		if err != nil {
			t.Fatal(err)
		}
		want := q.Service + wait
		var table [6]float64
		for i := range table {
			users := 100 << i
			p, err := Closed{users, float64(users)/q.PerSec - want, []Station{{"station", q.Service, q.Servers}}}.Solve()
			if err != nil {
				t.Fatal(err)
			}
			// table[j] has the terms of 1/n up to 1/n^(i-j) removed.
			table[i] = p.Response
			for j := i - 1; j >= 0; j-- {
				factor := math.Pow(2, float64(i-j))
				table[j] = (factor*table[j+1] - table[j]) / (factor - 1)
			}
		}
		near(t, "response", table[0], want, 1e-9)
	}
}

// Mean-value analysis as it is taught, for single servers and delays, where it
// is stable.
func TestAgainstMeanValueAnalysis(t *testing.T) {
	stations := []Station{{"cpu", 0.005, 1}, {"disk", 0.030, 1}, {"net", 0.027, Unlimited}}
	const users, think = 64, 0.4
	queue := make([]float64, len(stations))
	var x, response float64
	for n := 1; n <= users; n++ {
		response = 0
		residence := make([]float64, len(stations))
		for k, s := range stations {
			residence[k] = s.Demand
			if s.Servers == 1 {
				residence[k] *= 1 + queue[k]
			}
			response += residence[k]
		}
		x = float64(n) / (think + response)
		for k := range stations {
			queue[k] = x * residence[k]
		}
	}
	p, err := Closed{users, think, stations}.Solve()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "throughput", p.PerSec, x, 1e-12)
	near(t, "response", p.Response, response, 1e-11)
	for k := range stations {
		near(t, stations[k].Name, p.Stations[k].InFlight, queue[k], 1e-10)
	}
}

// A pool of one is a queue, and one with a server for each user is a delay.
func TestStationKindsMeet(t *testing.T) {
	other := Station{"pool", 0.02, 4}
	for _, c := range []struct{ a, b Station }{
		{Station{"x", 0.05, 30}, Station{"x", 0.05, Unlimited}},
		{Station{"x", 0.05, 29}, Station{"x", 0.05, Unlimited}}, // differs only if all 30 are there
	} {
		a, err := Closed{30, 1, []Station{c.a, other}}.Solve()
		if err != nil {
			t.Fatal(err)
		}
		b, err := Closed{30, 1, []Station{c.b, other}}.Solve()
		if err != nil {
			t.Fatal(err)
		}
		near(t, "throughput", a.PerSec, b.PerSec, 1e-12)
		near(t, "in flight", a.Stations[0].InFlight, b.Stations[0].InFlight, 1e-12)
	}
}

// Any network: Little's law over the whole cycle, bounds, and more users never
// make fewer requests.
func TestClosedInvariants(t *testing.T) {
	property := func(users uint8, think uint16, demands [3]uint16, servers [3]uint8) bool {
		c := Closed{Users: int(users%60) + 1, Think: float64(think) / 1000}
		total, limit := c.Think, math.Inf(1)
		for k := range demands {
			s := Station{Demand: float64(demands[k]) / 1e5, Servers: int(servers[k]%6) + 1}
			total += s.Demand
			limit = min(limit, float64(s.Servers)/s.Demand)
			c.Stations = append(c.Stations, s)
		}
		curve, err := c.Curve()
		if total == 0 {
			return errors.Is(err, ErrArgument)
		}
		if err != nil || len(curve) != c.Users {
			return false
		}
		last := 0.0
		for _, p := range curve {
			n := float64(p.Users)
			if math.Abs(p.PerSec*(p.Response+c.Think)-n) > 1e-9*n || p.PerSec < last*(1-1e-12) ||
				p.PerSec > min(limit, n/total)*(1+1e-12) {
				return false
			}
			for _, s := range p.Stations {
				if s.InFlight < 0 || s.Utilisation > 1+1e-12 {
					return false
				}
			}
			last = p.PerSec
		}
		return true
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

// The unit of time doesn't matter: factors of any size keep their digits.
func TestClosedHasNoScale(t *testing.T) {
	network := func(unit float64) Closed {
		return Closed{200, 1 * unit, []Station{{"pool", 0.1 * unit, 12}, {"sink", 0.004 * unit, 1}, {"net", 0.02 * unit, Unlimited}}}
	}
	want, err := network(1).Solve()
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range []float64{1e-15, 1e-9, 1e9, 1e15} {
		got, err := network(unit).Solve()
		if err != nil {
			t.Fatal(err)
		}
		near(t, "throughput", got.PerSec*unit, want.PerSec, 1e-12)
		near(t, "pool", got.Stations[0].InFlight, want.Stations[0].InFlight, 1e-11)
	}
}

// Deep in saturation with many users, where the recursion for several servers
// goes negative.
func TestClosedIsStable(t *testing.T) {
	c := Closed{2000, 1, []Station{{"pool", 0.1, 12}, {"sink", 0.008, 1}}}
	p, err := c.Solve()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "throughput", p.PerSec, 120, 1e-6)
	near(t, "cycle", p.PerSec*(p.Response+1), 2000, 1e-9)
}

func TestClosedRefuses(t *testing.T) {
	for name, c := range map[string]Closed{
		"no users":     {0, 1, nil},
		"no time":      {1, 0, []Station{{"x", 0, 1}}},
		"past":         {1, -1, nil},
		"endless":      {1, math.Inf(1), nil},
		"no servers":   {1, 1, []Station{{"x", 1, 0}}},
		"minus demand": {1, 1, []Station{{"x", -1, 1}}},
	} {
		if _, err := c.Solve(); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, _, err := Repairman(0, 1, 1, 1); !errors.Is(err, ErrArgument) {
		t.Errorf("repairman without users: got %v", err)
	}
}

func TestRepairmanLimits(t *testing.T) {
	if x, r, err := Repairman(10, 2, 0, 3); err != nil || x != 5 || r != 0 {
		t.Errorf("service takes no time: got %v/s, %v s, %v", x, r, err)
	}
	x, r, err := Repairman(10, 0, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "no think time: throughput c/S", x, 2, 1e-12)
	near(t, "no think time: response N/X", r, 5, 1e-12)
}
