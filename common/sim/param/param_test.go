package param_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"latlab.example/common/sim/param"
)

var table = param.New(
	param.Param{Name: "io", Value: int64(1270 * time.Microsecond), Lo: int64(900 * time.Microsecond), Hi: int64(2 * time.Millisecond), Source: param.Published("aero.stage.free.io"), What: "a read's round trip"},
	param.Param{Name: "cores", Value: 4, Unit: param.Count, Lo: 1, Hi: 16, Source: param.Assumed("not published"), What: "cores of the host"},
	param.Param{Name: "held", Value: 250_000, Unit: param.Share, Lo: 0, Hi: 1_000_000, Source: param.Calibrated("the mean of one row"), What: "share of inference under the lock"},
	param.Param{Name: "users", Value: 10, Unit: param.Count, Source: param.Published("the harness"), What: "closed loops"},
)

func ExampleTable_WriteText() {
	changed, err := table.SetText("cores", "2")
	if err != nil {
		fmt.Println(err)
		return
	}
	changed.WriteText(os.Stdout)
	// Output:
	// parameter  value   range       source                                     what it is
	// io         1.27ms  900us..2ms  published: aero.stage.free.io              a read's round trip
	// cores      2       1..16       set: instead of 4, assumed: not published  cores of the host
	// held       0.25    0..1        calibrated: the mean of one row            share of inference under the lock
	// users      10      -           published: the harness                     closed loops
}

func ExampleTornado() {
	// The time of an operation that waits for io and works on the cores.
	outcome := func(t param.Table) (float64, error) {
		return float64(t.Time("io")+t.Part("held", 8*time.Millisecond)/time.Duration(t.Count("cores"))) / 1e6, nil
	}
	base, bars, err := param.Tornado(table, outcome)
	if err != nil {
		fmt.Println(err)
		return
	}
	param.WriteTornado(os.Stdout, base, bars)
	// Output:
	// the outcome is 1.77
	// parameter  from   to   outcome at from  at to  source
	// held       0      1    1.27             3.27   calibrated
	// cores      1      16   3.27             1.395  assumed
	// io         900us  2ms  1.4              2.5    published
}

func ExampleFlips() {
	flips, err := param.Flips(table, "cores", 1, 64, func(t param.Table) (string, error) {
		if t.Count("cores") < 7 {
			return "fails", nil
		}
		return "holds", nil
	})
	fmt.Println(flips, err)
	// Output:
	// [cores: fails up to 6, holds from 7 (the model has 4, assumed)] <nil>
}

func TestErrorsSayWhatThereIs(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       error
		says       string
	}{
		{"oi", "1ms", param.ErrParam, "io, cores, held, users"},
		{"io", "1", param.ErrValue, "such as 1.27ms"},
		{"cores", "2.5", param.ErrValue, "such as 4"},
		{"held", "NaN", param.ErrValue, "such as 0.25"},
		{"cores", "-1", param.ErrValue, "negative"},
	} {
		_, err := table.SetText(test.name, test.text)
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s=%s: %v; want %v that says %q", test.name, test.text, err, test.want, test.says)
		}
	}
	if _, err := table.SweepText("io", "1ms"); !errors.Is(err, param.ErrValue) {
		t.Errorf("a range with one end: %v", err)
	}
}

func TestWhatCanNotBePanics(t *testing.T) {
	source := param.Assumed("a test")
	for name, f := range map[string]func(){
		"twice":          func() { param.New(table.Params()[0], table.Params()[0]) },
		"no source":      func() { param.New(param.Param{Name: "x", What: "x"}) },
		"out of range":   func() { param.New(param.Param{Name: "x", What: "x", Source: source, Value: 3, Lo: 1, Hi: 2}) },
		"unknown name":   func() { table.Count("absent") },
		"another unit":   func() { table.Count("io") },
		"negative value": func() { param.New(param.Param{Name: "x", What: "x", Source: source, Value: -1, Lo: -1, Hi: 0}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// Setting leaves the table alone; text reads back; a sweep has both ends, is
// monotone and has no value twice.
func TestProperties(t *testing.T) {
	property := func(a, b uint32) bool {
		changed, err := table.Set("io", int64(a))
		if err != nil || changed.Time("io") != time.Duration(a) || table.Time("io") != 1270*time.Microsecond {
			return false
		}
		p, err := changed.Get("io")
		if err != nil {
			return false
		}
		back, err := table.Parse("io", p.Text())
		if err != nil || back != int64(a) {
			return false
		}
		swept, err := table.Sweep("cores", int64(a), int64(b))
		if err != nil || swept[0].Value != int64(a) || swept[len(swept)-1].Value != int64(b) {
			return false
		}
		for i := range swept[1:] {
			if (swept[i].Value < swept[i+1].Value) != (a < b) {
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

// A part is exact to the nanosecond, also of times that a product would overflow.
func TestPart(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 3, time.Millisecond, 1<<62 - 1} {
		if got, want := table.Part("held", d), d/4; got != want {
			t.Errorf("a quarter of %d is %d, want %d", d, got, want)
		}
	}
}
