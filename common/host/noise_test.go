package host

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestStartNoise(t *testing.T) {
	n := StartNoise().Stop()
	if n.Elapsed <= 0 || n.ForeignCPU < 0 || n.Steal < 0 || n.Steal > 1 {
		t.Errorf("got %+v", n)
	}
	if runtime.GOOS != "linux" && n.Known {
		t.Errorf("known on %s: %+v", runtime.GOOS, n)
	}
	b, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	var back Noise
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, n) {
		t.Errorf("read back from JSON: %v\n%+v\n%+v", err, back, n)
	}
}

const (
	statBefore = "cpu  1000 0 500 9000 100 40 50 10 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5 6\nctxt 9\n"
	statAfter  = "cpu  1080 10 510 9280 110 40 60 20 70 0\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5 6\nctxt 9\n"
	psiBefore  = "some avg10=0.10 avg60=0.20 avg300=0.30 total=1000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
	psiAfter   = "some avg10=1.50 avg60=0.20 avg300=0.30 total=31000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
)

func TestNoiseFromFiles(t *testing.T) {
	root := newTree(t, map[string]string{"proc/stat": statBefore, "proc/pressure/memory": psiBefore, "proc/pressure/io": "broken"})
	start := time.Now()
	first := takeReading(root, start)
	put(t, root, "proc/stat", statAfter)
	put(t, root, "proc/pressure/memory", psiAfter)
	last := takeReading(root, start.Add(2*time.Second))
	// 100 ticks of processes, of which 0.4 s are our own.
	first.own, first.known = time.Second, true
	last.own, last.known = 1400*time.Millisecond, true

	got := first.until(last)
	if !got.Known || got.CPUs != 2 || math.Abs(got.ForeignCPU-0.3) > 1e-9 || math.Abs(got.Steal-10.0/410) > 1e-9 {
		t.Errorf("got %+v", got)
	}
	if got.CPU != nil || got.IO != nil || got.Memory == nil || *got.Memory != (Pressure{30 * time.Millisecond, 1.5}) {
		t.Errorf("pressure %+v, %+v, %+v", got.CPU, got.IO, got.Memory)
	}
	want := "foreign CPU 0.30 cores, steal 2.4 %, cpu pressure absent, io pressure absent, memory stalls 30ms in 2s"
	if got.String() != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	last.own = time.Hour
	if n := first.until(last); n.ForeignCPU != 0 {
		t.Errorf("more own time than the kernel counted: foreign %v", n.ForeignCPU)
	}
	last.known = false
	if n := first.until(last); n.Known || n.ForeignCPU != 0 || !strings.HasPrefix(n.String(), "foreign CPU and steal unknown") {
		t.Errorf("unknown: %v", n)
	}
}

func TestNoiseWithoutFiles(t *testing.T) {
	n := startNoise(newTree(t, nil)).Stop()
	if reason, dirty := n.Dirty(); n.Known || dirty || reason != "" {
		t.Errorf("got %v, %q", n, reason)
	}
}

func TestParseStatErrors(t *testing.T) {
	for _, text := range []string{"", "intr 1", "cpu 1 2 3", "cpu 1 2 3 4 5 6 7 x", "cpu 0 0 0 0 0 0 0 0"} {
		if s, ok := parseStat(text); ok {
			t.Errorf("%q reads as %+v", text, s)
		}
	}
}

func TestParsePressureErrors(t *testing.T) {
	for _, text := range []string{"", "full avg10=0.00 total=1", "some avg10=0.00", "some avg10=x total=1", "some avg10=0 total=x"} {
		if p, ok := parsePressure(text); ok {
			t.Errorf("%q reads as %+v", text, p)
		}
	}
}

func TestDirty(t *testing.T) {
	for name, tt := range map[string]struct {
		noise Noise
		want  string // part of the reason, "" if clean
	}{
		"quiet":                       {Noise{Elapsed: time.Second, Known: true, CPUs: 2}, ""},
		"unknown":                     {Noise{Elapsed: time.Second, ForeignCPU: 2, Steal: 1}, ""},
		"foreign":                     {Noise{Elapsed: 10 * time.Second, Known: true, CPUs: 2, ForeignCPU: 0.11}, "others used 0.11 of a core"},
		"foreign, within three ticks": {Noise{Elapsed: 100 * time.Millisecond, Known: true, CPUs: 2, ForeignCPU: 0.39}, ""},
		"foreign, beyond":             {Noise{Elapsed: 100 * time.Millisecond, Known: true, CPUs: 2, ForeignCPU: 0.41}, "others used"},
		"steal":                       {Noise{Elapsed: time.Second, Known: true, CPUs: 2, Steal: 0.03}, "3.0 % of CPU time stolen"},
		"steal, within two ticks":     {Noise{Elapsed: 100 * time.Millisecond, Known: true, CPUs: 2, Steal: 0.1}, ""},
		"memory":                      {Noise{Elapsed: time.Second, Memory: &Pressure{Stall: 20 * time.Millisecond}}, "memory stalls for 2.0 %"},
		"memory, a little":            {Noise{Elapsed: time.Second, Memory: &Pressure{Stall: 5 * time.Millisecond}}, ""},
		"own load":                    {Noise{Elapsed: time.Second, Known: true, CPU: &Pressure{Stall: time.Second}, IO: &Pressure{Stall: time.Second}}, ""},
	} {
		reason, dirty := tt.noise.Dirty()
		if dirty != (tt.want != "") || !strings.Contains(reason, tt.want) || dirty != (reason != "") {
			t.Errorf("%s: %v, %q, want %q", name, dirty, reason, tt.want)
		}
	}
}

func ExampleNoise_Dirty() {
	n := Noise{Elapsed: 5 * time.Second, Known: true, CPUs: 2, ForeignCPU: 0.75, Steal: 0.031}
	reason, dirty := n.Dirty()
	fmt.Println(dirty, reason)
	// Output: true others used 0.75 of a core (more than 0.10); 3.1 % of CPU time stolen (more than 2 %)
}
