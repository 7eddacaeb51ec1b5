package stats_test

import (
	"fmt"

	"latlab.example/common/lab"
	"latlab.example/experiments/stats"
)

func ExampleCompare() {
	before := stats.Sample{Unit: lab.SecPerOp, Values: []float64{10, 11, 12, 13, 14, 15}}
	after := stats.Sample{Unit: lab.SecPerOp, Values: []float64{5, 5.5, 6, 6.5, 7, 7.5}}
	c, err := stats.Compare(before, after)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f [%.1f, %.1f] to %.2f [%.1f, %.1f], p %.4f\n", c.A.Mid, c.A.Lo, c.A.Hi, c.B.Mid, c.B.Lo, c.B.Hi, c.P)

	after.Provenance = lab.Measured
	_, err = stats.Compare(before, after)
	fmt.Println(err)
	// Output:
	// 12.5 [10.0, 15.0] to 6.25 [5.0, 7.5], p 0.0022
	// sec/op: modelled against measured: modelled and measured figures can't be compared; compare within one provenance
}

func ExampleHolm() {
	fmt.Println(stats.Holm([]float64{0.01, 0.20, 0.015}))
	// Output: [0.03 0.2 0.03]
}
