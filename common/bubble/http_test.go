package bubble_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"latlab.example/common/bubble"
	"latlab.example/common/bubble/internal/shop"
	"latlab.example/common/lab/labtest"
)

// Real client and server, 150 users, two virtual minutes: every user sees the
// same response times in each run.
func TestHTTPIsTheSameEachTime(t *testing.T) {
	runs, load := 20, load()
	var first shop.Figures
	wall := time.Now()
	for i := range runs {
		f, err := shop.Run(t.Context(), load)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = f
		}
		if f != first {
			t.Fatalf("run %d: %v, and first: %v", i, f, first)
		}
	}
	t.Logf("%v; %v of wall-clock time a run", first, time.Since(wall)/time.Duration(runs))

	// A user thinks 1 s and waits for about 32 ms. With the shorter load the
	// deviation of the mean is 0.017: here are five of it.
	perUser := float64(first.Requests) / float64(load.Users) / load.Span.Seconds()
	if perUser < 0.885 || perUser > 1.055 {
		t.Errorf("%.3f requests a second from each user, want about 0.97", perUser)
	}
	load.Seed++
	f, err := shop.Run(t.Context(), load)
	if err != nil || f.Hash == first.Hash {
		t.Errorf("another seed gives %v, %v, the same as before", f, err)
	}
}

// load is the standard load, cut short for the race detector.
func load() shop.Load {
	l := shop.Standard()
	if bubble.RaceEnabled {
		l.Span /= 6
	}
	return l
}

// A built command gives the figures of the test, and its flags are its own.
func TestCommand(t *testing.T) {
	load := load()
	want, err := shop.Run(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	exe := build(t)
	for range 2 {
		out, err := exec.Command(exe, "-v", "-run", "2", "-span", load.Span.String(), "rest", "-test.v").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines := fmt.Sprintf("%v\n%v\nflag race\nflag run\nflag span\nflag v\nrest [rest -test.v]\n", want, want)
		if string(out) != lines {
			t.Errorf("got\n%s\nwant\n%s", out, lines)
		}
	}
	if !bubble.RaceEnabled {
		return
	}
	out, err := exec.Command(exe, "-race").CombinedOutput()
	if err == nil || !strings.Contains(string(out), bubble.ErrRace.Error()) || strings.Contains(string(out), "panic") {
		t.Errorf("a race in a command: %v: %s", err, out)
	}
}

func build(t *testing.T) string {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		labtest.Require(t, "go", err) // LATLAB_REQUIRE_REAL
	}
	exe := filepath.Join(t.TempDir(), "bubblecmd")
	if runtime.GOOS == "windows" {
		exe += ".exe"
	}
	args := []string{"build", "-o", exe}
	if bubble.RaceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command(goTool, append(args, "./internal/bubblecmd")...)
	cmd.Env = os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}

func BenchmarkHTTPIsTheSameEachTime(b *testing.B) {
	var first shop.Figures
	for b.Loop() {
		f, err := shop.Run(b.Context(), shop.Standard())
		if err != nil {
			b.Fatal(err)
		}
		if first.Requests == 0 {
			first = f
		}
		if f != first {
			b.Fatalf("%v, and first: %v", f, first)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*first.Requests), "ns/request")
	b.ReportMetric(120*float64(b.N)/b.Elapsed().Seconds(), "virtual-s/s")
}

// Real client, real server, and an answer after exactly a quarter of an hour.
// The first request dials, which is a round trip more.
func ExampleRun() {
	err := bubble.Run(context.Background(), func(ctx context.Context) error {
		network := bubble.NewNet(bubble.Link{RTT: 20 * time.Millisecond})
		listener, err := network.Listen("slow:80")
		if err != nil {
			return err
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(15 * time.Minute)
			_, _ = io.WriteString(w, "done")
		})}
		go server.Serve(listener)
		defer server.Close()

		transport := &http.Transport{DialContext: network.DialContext}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}

		for range 2 {
			start := time.Now()
			resp, err := client.Get("http://slow/")
			if err != nil {
				return err
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			fmt.Println(string(body), err, time.Since(start))
		}
		return nil
	})
	fmt.Println("error:", err)

	// Output:
	// done <nil> 15m0.04s
	// done <nil> 15m0.02s
	// error: <nil>
}
