package laws_test

import (
	"fmt"
	"os"

	"latlab.example/common/laws"
)

// A published row: 150 users, 46.27 requests a second, 10 ms in the mean, a pool
// of 15, and a script that says to think for about 1.5 s.
func ExampleAudit() {
	findings, err := laws.Audit(laws.Figures{Users: "150", PerSec: "46.27", Mean: "10ms", P95: "27ms", Think: "1.5s", Pool: "15"})
	if err != nil {
		fmt.Println(err)
		return
	}
	laws.WriteText(os.Stdout, findings)
	// Output:
	// - implausible: with a think time of 1.5 s (1.45 to 1.55), rate and mean account for 69.9 (67.5 to 72.2) users of 150. [N = X (R + Z)] It would need: the other users weren't active on average (a ramp, or waits that weren't counted), or a mean think time of 3.23 s.
	// - must be true: 0.463 (0.44 to 0.486) requests are in flight on average: 46.3/s x 10 ms (9.5 to 10.5). [N = X R]
	// - must be true: a user starts a request every 3.24 s on average, so thinks for 3.23 s. [Z = N/X - R] Provided that all users are active for the whole run.
	// - must be true: at most 0.463 (0.44 to 0.486) of 15 in the pool are busy on average, a utilisation of 3.08 % (2.93 to 3.24): waiting for it needs bursts. [U <= X R / c] Provided that a request needs one of the pool, once, and only while it runs.
	// - must be true: the percentiles make a mean of 1.35 ms (1.33 to 1.38) or more; the given one fits. [mean >= sum of shares x percentiles]
}

// Two rows of one study: which users and think time would give both?
func ExampleCommonLoad() {
	users, think, err := laws.CommonLoad(
		laws.Row{PerSec: laws.Exact(24.40), Response: laws.Exact(1.393)},
		laws.Row{PerSec: laws.Exact(42.56), Response: laws.Exact(0.152)},
	)
	fmt.Printf("%v users who think for %v s, %v\n", users, think, err)
	// Output:
	// 71 users who think for 1.52 s, <nil>
}

// How large a pool do 150 users need who think for 1.5 s and hold a connection
// for 106 ms?
func ExampleClosed() {
	for _, pool := range []int{5, 10, 15, 30} {
		p, err := laws.Closed{Users: 150, Think: 1.5, Stations: []laws.Station{
			{Name: "pool", Demand: 0.106, Servers: pool},
		}}.Solve()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("pool of %2d: %6.1f ms, %4.1f/s, %5.1f %% busy\n", pool, p.Response*1000, p.PerSec, p.Stations[0].Utilisation*100)
	}
	// Output:
	// pool of  5: 1680.0 ms, 47.2/s, 100.0 % busy
	// pool of 10:  182.1 ms, 89.2/s,  94.5 % busy
	// pool of 15:  107.5 ms, 93.3/s,  65.9 % busy
	// pool of 30:  106.0 ms, 93.4/s,  33.0 % busy
}

func ExampleFitUSL() {
	fit, err := laws.FitUSL([]laws.ScalePoint{{Load: 1, PerSec: 1000}, {Load: 2, PerSec: 1870}, {Load: 4, PerSec: 3270}, {Load: 8, PerSec: 5030}, {Load: 16, PerSec: 6200}})
	fmt.Printf("sigma %.3f, kappa %.4f, peak at %.0f, R2 %.4f, %v\n", fit.Sigma, fit.Kappa, fit.Peak(), fit.R2, err)
	// Output:
	// sigma 0.063, kappa 0.0026, peak at 19, R2 1.0000, <nil>
}
