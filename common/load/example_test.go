package load_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"latlab.example/common/emu"
	"latlab.example/common/load"
)

// A server answers in a millisecond but stalls for two seconds in the middle of
// 100. A user who sends ten requests a second meets the stall once, so 99 % of a
// closed loop's requests don't know of it. Of arrivals that don't wait for each
// other 2 % meet it, at the same rate.
func ExampleOpen() {
	inBubble(func(ctx context.Context, out io.Writer) {
		open, err := load.Open{Arrivals: load.Even(load.Hold(10, 100*time.Second))}.Run(ctx, stalls(50*time.Second, 52*time.Second))
		if err != nil {
			fmt.Fprintln(out, err)
			return
		}
		closed, err := load.Closed{Users: load.Hold(1, 100*time.Second), Think: emu.Constant(99 * time.Millisecond)}.Run(ctx, stalls(50*time.Second, 52*time.Second))
		if err != nil {
			fmt.Fprintln(out, err)
			return
		}
		for _, r := range []load.Report{closed, open} {
			fmt.Fprintf(out, "%s: %.1f/s, p99 %.3f s\n", r.Load, r.PerSec(), float64(r.Response.Quantile(0.99))/1e9)
		}
	})
	// Output:
	// closed(0s:1,1m40s:1) think 99ms: 9.8/s, p99 0.001 s
	// open even(0s:10,1m40s:10): 10.0/s, p99 1.000 s
}

// Fifty users, up in ten seconds, who think for a second and are served one by
// one.
func ExampleClosed() {
	inBubble(func(ctx context.Context, out io.Writer) {
		one := make(chan struct{}, 1)
		users, err := load.ParseSchedule("10s:50,60s:50")
		if err != nil {
			fmt.Fprintln(out, err)
			return
		}
		report, err := load.Closed{
			Users: users, Think: emu.Constant(time.Second),
			Options: load.Options{Window: load.Window{From: 20 * time.Second, To: 70 * time.Second}},
		}.Run(ctx, func(ctx context.Context, r load.Request) error {
			one <- struct{}{}
			defer func() { <-one }()
			time.Sleep(25 * time.Millisecond)
			return nil
		})
		if err != nil {
			fmt.Fprintln(out, err)
			return
		}
		report.WriteText(out)
	})
	// Output:
	// load       closed(10s:50,1m0s:50) think 1s, seed 0; stopped by schedule
	// counted    completions from 20s to 1m10s; cut: 651 before, 10 after
	// success    2000 of 2000, 40/s
	// in flight  10 on average of 50 users; by Little's law 40/s x 250ms, edges +0
	//
	//             count   mean    p50    p95    p99    max
	//   response   2000  250ms  250ms  250ms  250ms  250ms
	//    service   2000  250ms  250ms  250ms  250ms  250ms
	//        lag   2000     0s     0s     0s     0s     0s
}

// inBubble runs f in virtual time and prints what it writes. An example has no
// *testing.T, which a bubble needs, so it takes that of a test of its own, whose
// messages go nowhere.
func inBubble(f func(ctx context.Context, out io.Writer)) {
	stdout := os.Stdout
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nowhere.Close()
	var out strings.Builder
	var once sync.Once // the flags -count and -cpu would repeat it
	os.Stdout = nowhere
	ok := testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "bubble", F: func(t *testing.T) {
			once.Do(func() { synctest.Test(t, func(t *testing.T) { f(t.Context(), &out) }) })
		},
	}})
	os.Stdout = stdout
	fmt.Print(out.String())
	if !ok {
		fmt.Println("the bubble failed")
	}
}
