package modelrig_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/common/lab/modelrig"
	"latlab.example/common/metrics"
	"latlab.example/common/sim/param"
)

// The way to the shop: on foot, or by a bus that comes now and then.
var (
	way   = metrics.NewToggle("way", "foot", "bus")
	model = modelrig.Model{
		Params: param.New(
			param.Param{Name: "walk", Value: int64(20 * time.Minute), Lo: int64(10 * time.Minute), Hi: int64(30 * time.Minute), Source: param.Assumed("a short way"), What: "the way on foot"},
			param.Param{Name: "wait", Value: int64(5 * time.Minute), Lo: 0, Hi: int64(15 * time.Minute), Source: param.Assumed("half the interval"), What: "until a bus comes"},
			param.Param{Name: "ride", Value: int64(5 * time.Minute), Source: param.Published("the timetable"), What: "the way by bus"},
		),
		Assume: []string{"there is room on the bus"},
		Open: func(_ context.Context, a lab.Arm, t param.Table) (lab.Subject, error) {
			if way.Of(a) == "foot" {
				return trip(t.Time("walk")), nil
			}
			return trip(t.Time("wait") + t.Time("ride")), nil
		},
	}
	shop = lab.Experiment{
		Name: "toy/shop", Question: "Is the bus faster?", Factors: []lab.Factor{way},
		Rule: lab.Faster(0.10).NoEffectUnder(0.05), Rigs: []lab.Rig{model.Rig("model")},
	}
)

type trip time.Duration

func (d trip) Trial(_ context.Context, t *lab.Trial) error {
	t.Ops, t.Took = 1, time.Duration(d)
	return nil
}
func (trip) Close() error { return nil }

func TestTheRigIsSound(t *testing.T) { labtest.Check(t, shop) }

// From how long a wait on is the bus no longer the answer, and what matters most?
func Example() {
	ctx := context.Background()
	arms, err := shop.Arms(model.Rig("model"), lab.Selection{})
	if err != nil {
		fmt.Println(err)
		return
	}
	verdict := model.Verdict(ctx, shop, arms[0], arms[1], lab.Plan{N: 1}, 1, 2)
	flips, err := param.Flips(model.Params, "wait", 0, int64(16*time.Minute), verdict)
	for _, f := range flips {
		fmt.Println(f)
	}
	if err != nil {
		fmt.Println(err)
	}
	ratio := model.Ratio(ctx, shop, arms[0], arms[1], lab.SecPerOp, lab.Plan{N: 1})
	base, bars, err := param.Tornado(model.Params, ratio)
	fmt.Println(base, bars[0].Param.Name, bars[0].AtLo, bars[0].AtHi, err)
	// Output:
	// wait: holds up to 13m0s, inconclusive from 13m7.5s (the model has 5m0s, assumed)
	// wait: inconclusive up to 14m0s, fails from 14m7.5s (the model has 5m0s, assumed)
	// 0.5 wait 0.25 1 <nil>
}
