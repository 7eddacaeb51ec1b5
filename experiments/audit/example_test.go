package audit_test

import (
	"fmt"
	"strings"

	"latlab.example/experiments/audit"
)

// A table of one's own: two figures of a run, and a change that doesn't follow.
func ExampleRead() {
	table, err := audit.Read(audit.Source{Name: "mine.csv", Reader: strings.NewReader(`id,metric,value,unit,run,quantity,statistic,concurrency,relation
mean,latency,107.56,ms,test,response,mean,10,
rps,requests,138.2,per_s,test,throughput,,10,
before,latency before,70,ms,,,,,
after,latency after,50,ms,,,,,
gain,gain,-33,percent,,,,,"= change(before, after)"
`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range table.Audit().Broken() {
		fmt.Println(f)
	}
	// Output:
	// impossible: In run test, 14.9 requests in flight are more than the 10 users can have, one each: rate and mean aren't of the same requests, or the mean isn't a mean. [N = X R]
	//     X R = 138.2/s x 107.56 ms = 14.9
	//     rows: rps, mean
	// impossible: Gain is given as -33 %, and -28.6 % follows. [a figure follows from the rows it comes from]
	//     70 ms to 50 ms = -28.6 %, against -33 %
	//     rows: gain, before, after
}
