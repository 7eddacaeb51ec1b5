package fidelity_test

import (
	"fmt"
	"os"

	"latlab.example/common/fidelity"
)

// A test on loopback beside its production.
func Example() {
	declared, err := fidelity.Parse(`
cores     = 2             # shared with three stacks
store rtt = 0.5ms..5ms    # another host of the region
proxy     = nginx         # buffers answers
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	table := fidelity.Compare(declared, fidelity.Facts{{Name: "cores", Value: "2"}, {Name: "store rtt", Value: "40us"}})
	if err := table.WriteText(os.Stdout); err != nil {
		fmt.Println(err)
	}
	fmt.Println(table)
	// Output:
	// fact       production  here           why
	// cores      2           2     equal    shared with three stacks
	// store rtt  0.5ms..5ms  40us  differs  another host of the region
	// proxy      nginx       ?     unknown  buffers answers
	// 1 equal, 1 differ (store rtt), 1 unknown
}
