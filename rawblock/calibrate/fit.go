package calibrate

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"
)

// Device is what a curve fits, the host's part of it included: a core works on
// each write, then one of the channels takes it for the service time, and then it
// goes over a way that all of them share.
type Device struct {
	PerWrite    time.Duration `json:"per_write_ns"` // of a core
	Service     time.Duration `json:"service_ns"`
	Channels    int           `json:"channels"`
	BytesPerSec int64         `json:"bytes_per_s"` // 0 is without a limit
	Cores       int           `json:"cores"`       // that work on writes
	Residual    float64       `json:"residual"`    // root mean square of (fitted-measured)/measured
}

// Latency is what the device takes for a write with so many under way, all the
// time: the sum of its parts for one alone, or by Little's law from the least of
// the three rates.
func (d Device) Latency(depth, bytes int) time.Duration {
	l := law{service: float64(d.Service), perWrite: float64(d.PerWrite)}
	if d.BytesPerSec > 0 {
		l.perByte = 1e9 / float64(d.BytesPerSec)
	}
	return time.Duration(l.latency(d.Channels, d.Cores, depth, bytes))
}

// law has times in nanoseconds.
type law struct{ service, perWrite, perByte float64 }

func (l law) latency(channels, cores, depth, bytes int) float64 {
	way := l.perByte * float64(bytes)
	n := float64(depth)
	return max(l.perWrite+l.service+way, (l.service+way)*n/float64(channels), l.perWrite*n/float64(cores), way*n)
}

const maxChannels = 256

// Fit finds the device that comes closest to the points, which must be of one
// path and not be empty, on so many cores: the least sum of squared logarithms of
// fitted over measured latency. The points at depth 1 count as much as all others
// together, since every loop rests on them. The others count alike by path Call, and
// by their depth by path Ring, where a large batch rests on the deep ones.
func Fit(points []Point, cores int) (Device, error) {
	var alone, deep float64 // sums of weights
	weigh := func(p Point) float64 {
		if p.Path == Ring {
			return float64(p.Depth)
		}
		return 1
	}
	for _, p := range points {
		if p.Latency <= 0 || p.Depth < 1 || p.Bytes < 1 {
			return Device{}, fmt.Errorf("calibrate: a point of %d writes of %d bytes in %v: all must be positive", p.Depth, p.Bytes, p.Latency)
		}
		if p.Depth == 1 {
			alone++
		} else {
			deep += weigh(p)
		}
	}
	if alone == 0 || cores < 1 {
		return Device{}, fmt.Errorf("calibrate: %d points on %d cores, none at depth 1: the service time needs one", len(points), cores)
	}
	least := math.Inf(1)
	var best Device
	for k := 1; k <= maxChannels; k += 1 + k/16 {
		l, got := descend(func(l law) float64 {
			sum := 0.0
			for _, p := range points {
				off := math.Log(l.latency(k, cores, p.Depth, p.Bytes) / float64(p.Latency))
				weight := weigh(p)
				if p.Depth == 1 && deep > 0 {
					weight = deep / alone
				}
				sum += weight * off * off
			}
			return sum
		}, float64(points[0].Latency))
		if got < least-1e-9 {
			least = got
			best = Device{PerWrite: time.Duration(l.perWrite), Service: time.Duration(l.service), Channels: k, Cores: cores}
			if l.perByte > 1e-3 { // less is a terabyte a second
				best.BytesPerSec = int64(1e9 / l.perByte)
			}
		}
	}
	sum := 0.0
	for _, p := range points {
		rel := float64(best.Latency(p.Depth, p.Bytes))/float64(p.Latency) - 1
		sum += rel * rel
	}
	best.Residual = math.Sqrt(sum / float64(len(points)))
	return best, nil
}

// descend looks for the law at which f is least, from several starts, by ever
// smaller steps of one of its times as a factor.
func descend(f func(law) float64, start float64) (best law, least float64) {
	least = math.Inf(1)
	for _, perWrite := range []float64{0.01, 0.3} { // of the start
		for _, perByte := range []float64{0.01, 0.3, 3} { // 100 GB/s, 3 GB/s and 300 MB/s
			l := law{start, perWrite * start, perByte}
			got := f(l)
			for step := 2.0; step > 1.002; {
				better := false
				for _, x := range []float64{step, 1 / step} {
					for _, try := range []law{{l.service * x, l.perWrite, l.perByte}, {l.service, l.perWrite * x, l.perByte}, {l.service, l.perWrite, l.perByte * x}} {
						if v := f(try); v < got-1e-12 {
							l, got, better = try, v, true
						}
					}
				}
				if !better {
					step = math.Sqrt(step)
				}
			}
			if got < least {
				best, least = l, got
			}
		}
	}
	return best, least
}

// WriteFit writes a row a point: measured and fitted latency.
func (c Calibration) WriteFit(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "path\tbytes\tdepth\tmeasured\tfitted\tresidual\t")
	for _, p := range c.Curve {
		fitted := c.Fits[p.Path].Latency(p.Depth, p.Bytes)
		fmt.Fprintf(tab, "%s\t%d\t%d\t%.1fus\t%.1fus\t%+.0f%%\t\n", p.Path, p.Bytes, p.Depth, float64(p.Latency)/1e3, float64(fitted)/1e3, 100*(float64(fitted)/float64(p.Latency)-1))
	}
	return tab.Flush()
}
