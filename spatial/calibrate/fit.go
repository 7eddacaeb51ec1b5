package calibrate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"latlab.example/common/calibration"
	"latlab.example/common/laws"
)

// Fit is what comes closest to a curve: a request works for a time on one of some
// cores, which all requests share, and waits for something else beside.
type Fit struct {
	Work     time.Duration `json:"work_ns"` // mean CPU of a request, client's and server's where they share the cores
	Wait     time.Duration `json:"wait_ns"` // round trips and what else is no CPU
	Cores    int           `json:"cores"`
	Spread   float64       `json:"spread"`   // 95th percentile over median of one user's responses
	Residual float64       `json:"residual"` // root mean square of (fitted-measured)/measured
}

// Response is the mean response time of so many users without thoughts, by the
// exact solution of the closed network.
func (f Fit) Response(users int) (time.Duration, error) {
	p, err := laws.Closed{Users: users, Stations: []laws.Station{
		{Name: "cores", Demand: f.Work.Seconds(), Servers: f.Cores},
		{Name: "wait", Demand: f.Wait.Seconds(), Servers: laws.Unlimited},
	}}.Solve()
	return time.Duration(p.Response * 1e9), err
}

// maxCores is the most cores that a curve is asked for.
const maxCores = 64

// FitCurve finds the fit: the least sum of squared logarithms of fitted over measured
// response. The points must hold one of a single user. Where several numbers of
// cores fit alike, it is the least: more would never be seen.
func FitCurve(points []Point) (Fit, error) {
	i := slices.IndexFunc(points, func(p Point) bool { return p.Users == 1 })
	if i < 0 || len(points) < 3 {
		return Fit{}, fmt.Errorf("calibrate: %d points, and one of a single user is needed beside two others", len(points))
	}
	for _, p := range points {
		if p.Users < 1 || p.Response <= 0 || p.Median <= 0 || p.P95 < p.Median {
			return Fit{}, fmt.Errorf("calibrate: a point of %d users in %v, median %v and p95 %v: that can't be", p.Users, p.Response, p.Median, p.P95)
		}
	}
	alone := points[i]
	most := 0.0
	for _, p := range points {
		most = max(most, p.PerSec*alone.Response.Seconds())
	}
	best, least := Fit{}, math.Inf(1)
	for cores := 1; cores <= min(maxCores, int(math.Ceil(most))+1); cores++ {
		f, off, err := descend(points, Fit{Work: alone.Response * 4 / 5, Wait: alone.Response / 5, Cores: cores})
		if err != nil {
			return Fit{}, err
		}
		if off < least*0.98 { // more cores must be worth it
			best, least = f, off
		}
	}
	best.Spread = float64(alone.P95) / float64(alone.Median)
	best.Residual = math.Sqrt(least / float64(len(points)))
	return best, nil
}

// descend looks for the work and wait at which f is least, by ever smaller steps of
// one of them as a factor.
func descend(points []Point, f Fit) (Fit, float64, error) {
	got, err := f.off(points)
	if err != nil {
		return f, 0, err
	}
	for step := 2.0; step > 1.001; {
		better := false
		for _, x := range []float64{step, 1 / step} {
			work, wait := f, f
			work.Work = max(time.Duration(float64(f.Work)*x), 1)
			wait.Wait = max(time.Duration(float64(f.Wait)*x), 1)
			for _, try := range []Fit{work, wait} {
				v, err := try.off(points)
				if err != nil {
					return f, 0, err
				}
				if v < got-1e-12 {
					f, got, better = try, v, true
				}
			}
		}
		if !better {
			step = math.Sqrt(step)
		}
	}
	return f, got, nil
}

// off is the sum of squares.
func (f Fit) off(points []Point) (sum float64, err error) {
	for _, p := range points {
		r, err := f.Response(p.Users)
		if err != nil {
			return 0, err
		}
		off := math.Log(float64(r) / float64(p.Response))
		sum += off * off
	}
	return sum, nil
}

// WriteFit writes a row a point: measured and fitted response.
func (c Calibration) WriteFit(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "users\treq/s\tmeasured\tfitted\tresidual\t")
	for _, p := range c.Curve {
		r, err := c.Fit.Response(p.Users)
		if err != nil {
			return err
		}
		fmt.Fprintf(tab, "%d\t%.0f\t%s\t%s\t%+.0f%%\t\n", p.Users, p.PerSec, calibration.Millis(p.Response), calibration.Millis(r), 100*(float64(r)/float64(p.Response)-1))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "a request works %s on one of %d cores and waits %s\n", calibration.Millis(c.Fit.Work), c.Fit.Cores, calibration.Millis(c.Fit.Wait))
	return err
}
