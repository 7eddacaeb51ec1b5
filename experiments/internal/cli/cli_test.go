package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/registry"
	"latlab.example/experiments/runner"
)

// stop signals its own process, in the middle of the third block or while
// warming up.
var stop = lab.Experiment{
	Name: "toy/stop", Question: "Is what was measured kept?",
	Factors: []lab.Factor{toy.Strategy, by, during}, Rule: lab.Faster(0.10),
	Rigs: []lab.Rig{lab.Emulated("model", []string{"a toy"}, nil, toy.Opens(stopping))},
}

var (
	by         = lab.NewFactor("by", "INT", "TERM", "HUP")
	during     = lab.NewFactor("during", "block-3", "warm-up")
	stopTrials atomic.Int64
)

func stopping(ctx context.Context, a lab.Arm, t *lab.Trial) error {
	// With one level of the others, three arms and the control: 4 trials of
	// warm-up and 4 a block.
	last := int64(4 + 2*4 + 2)
	if during.Of(a) == "warm-up" {
		last = 2
	}
	if stopTrials.Add(1) > last {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}[by.Of(a)])
		}
		if err != nil {
			return err
		}
		if by.Of(a) != "HUP" || !signal.Ignored(syscall.SIGHUP) {
			<-ctx.Done()
			return ctx.Err()
		}
	}
	t.Ops, t.Took = 1, time.Millisecond
	return nil
}

// spoil puts a file in place of the results' folder while it runs.
var spoil = lab.Experiment{
	Name: "toy/spoil", Question: "Are results kept that can't be written?",
	Factors: []lab.Factor{toy.Lock}, Rule: lab.Faster(0.10),
	Rigs: []lab.Rig{lab.Virtual("model", []string{"a toy"}, toy.Opens(func(_ context.Context, _ lab.Arm, t *lab.Trial) error {
		t.Ops, t.Took = 1, time.Millisecond
		return errors.Join(os.RemoveAll("results"), os.WriteFile("results", nil, 0o600))
	}))},
}

// plain has a real rig that the probe finds, and that lacks something in the
// baseline alone, as io_uring in a build without it.
var plain = lab.Experiment{
	Name: "toy/plain", Question: "Does a refused baseline end a rig's run?",
	Factors: []lab.Factor{toy.Strategy}, Rule: lab.Faster(0.10),
	Rigs: []lab.Rig{
		lab.Virtual("model", []string{"a toy"}, toy.Opens(quick)),
		lab.Real("ring", nil, func(ctx context.Context, a lab.Arm) (lab.Subject, error) {
			if toy.Strategy.Of(a) == "loop" {
				return nil, &lab.Unavailable{Need: "ring", Why: "no ring in this build", Do: "build it with one"}
			}
			return toy.Opens(quick)(ctx, a)
		}).With(lab.NewFactor("depth", 1, 2)),
	},
}

func quick(_ context.Context, _ lab.Arm, t *lab.Trial) error {
	t.Ops, t.Took = 1, time.Millisecond
	return nil
}

func TestMain(m *testing.M) {
	lab.Main(registry.All()...)
	testscript.Main(m, map[string]func(){
		"latlab": func() {
			os.Exit(Main(registry.New([]lab.Experiment{toy.Speed, toy.Locked, toy.Saving, stop, spoil, plain})))
		},
		// As shipped, with the experiments of all cases.
		"latlab-all": func() { os.Exit(Main(registry.All())) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			// What the rigs ask the environment for.
			e.Setenv("XDG_CACHE_HOME", e.WorkDir)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("LocalAppData", e.WorkDir)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "shm":
				p, err := host.PathInfo("/dev/shm")
				return err == nil && p.InMemory(), nil
			case "hangup": // ends what this test starts
				return !signal.Ignored(syscall.SIGHUP), nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"nowhere": nowhere,
			"result":  result,
			"wasm":    wasm,
		},
	})
}

// exits runs a command and demands its exit code: exits 2 latlab run.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d; want %s", code, args[0])
	}
	// One line, whatever went wrong, beside those that say what a rig is about to run.
	if stderr := ts.ReadFile("stderr"); code != 0 && strings.Count("\n"+stderr, "\nlatlab: ") != 1 {
		ts.Fatalf("want one line of error, not\n%s", stderr)
	}
}

// result copies the first result file under a folder, and its .json beside it:
// result a.txt results/modelled.
func result(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: result NAME FOLDER")
	}
	found := ""
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, _ fs.DirEntry, err error) error {
		if found == "" && strings.HasSuffix(path, ".txt") {
			found = path
		}
		return err
	}))
	if found == "" {
		ts.Fatalf("no result in %s", args[1])
	}
	for _, half := range []string{".txt", ".json"} {
		from, to := strings.TrimSuffix(found, ".txt")+half, strings.TrimSuffix(ts.MkAbs(args[0]), ".txt")+half
		ts.Check(os.WriteFile(to, []byte(ts.ReadFile(from)), 0o600))
	}
}

// wasm writes a file that begins as WebAssembly does: wasm FILE.
func wasm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: wasm FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte("\x00asm\x01\x00\x00\x00"), 0o600))
}

func TestDoctorOffLinux(t *testing.T) {
	for _, goos := range []string{"darwin", "windows"} {
		var out bytes.Buffer
		root := newRoot(env{experiments: registry.New([]lab.Experiment{toy.Speed}), out: &out, err: io.Discard, goos: goos})
		root.SetArgs([]string{"doctor"})
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := "This is " + goos + ". These rigs need Linux: toy/speed server."; !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant a line %q", out.String(), want)
		}
	}
}

func TestProgressOnATerminalOnly(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var out, err bytes.Buffer
		root := newRoot(env{experiments: registry.New([]lab.Experiment{toy.Speed}), out: &out, err: &err, terminal: terminal, goos: runtime.GOOS})
		root.SetArgs([]string{"run", "toy/speed", "--rig", "model", "--blocks", "2", "--out", t.TempDir()})
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(err.String(), "\rmodel: block 2/2, trial 6/6, 0s left"); got != terminal {
			t.Errorf("terminal %v: stderr is %q", terminal, err.String())
		}
		if strings.Contains(out.String(), "\r") {
			t.Errorf("terminal %v: progress on stdout", terminal)
		}
	}
}

func TestProgressLineIsWrittenOver(t *testing.T) {
	var b bytes.Buffer
	l := progressLine{w: &b, rig: "file"}
	l.show(runner.Progress{Block: 10, Blocks: 10, Trial: 1, Trials: 12, Left: 100 * time.Second})
	long := l.width
	l.show(runner.Progress{Trial: 1, Trials: 12})
	l.clear()
	parts := strings.Split(b.String(), "\r")
	if len(parts) != 5 || len(parts[2]) != long || parts[3] != strings.Repeat(" ", long) {
		t.Errorf("wrote %q; want each line as long as the longest before", parts)
	}
}

func TestPlan(t *testing.T) {
	const second = time.Second
	for _, tt := range []struct {
		experiment  lab.Experiment
		rig         string
		blocks      int
		min, budget time.Duration
		all         time.Duration
		want        string
	}{
		{toy.Speed, "disk", 10, second, time.Hour, time.Hour, "disk: 4 arms and a control, 10 blocks: at least 55s"},
		{toy.Speed, "model", 10, second, 1, 1, "model: 5 arms and a control, 10 blocks, in virtual time"},
		// A warm-up and 6 blocks of 5 s.
		{toy.Speed, "disk", 10, second, 35 * second, 35 * second, "disk: 4 arms and a control, 10 blocks: at least 55s"},
		{toy.Speed, "disk", 10, second, 34 * second, 34 * second, "disk: 4 arms and a control, 10 blocks: at least 55s; warning: the budget of 34s is spent after 5 blocks or fewer, and an interval needs 6"},
		{toy.Speed, "picky", 10, second, 20 * second, time.Minute, "picky: 4 arms and a control, 10 blocks: at least 55s; warning: the rig's 20s of the budget of 1m0s is spent after 3 blocks or fewer, and an interval needs 6"},
		// Too few were asked for: no budget helps.
		{toy.Locked, "disk", 1, 1500 * time.Millisecond, 1, 1, "disk: 2 arms and a control, 1 block: at least 9s"},
		{toy.Locked, "disk", math.MaxInt, time.Hour, time.Hour, time.Hour, "disk: 2 arms and a control, 9223372036854775807 blocks: at least 1281023h53m38.427s; warning: the budget of 1h0m0s is spent after 1 block or fewer, and an interval needs 6"},
	} {
		r, err := tt.experiment.Rig(tt.rig)
		if err != nil {
			t.Fatal(err)
		}
		arms, err := tt.experiment.Arms(r, lab.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		f := runFlags{budget: tt.all}
		if got := f.plan(job{r, arms}, runner.Config{Blocks: tt.blocks, Min: tt.min, Budget: tt.budget}, tt.budget != tt.all); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

func FuzzParseSets(f *testing.F) {
	f.Add("strategy=loop,batch")
	f.Add("=")
	f.Fuzz(func(t *testing.T, s string) {
		sets, err := parseSets([]string{s})
		if err != nil {
			if exitCode(err) != 2 {
				t.Errorf("%q: exit code %d; want 2", s, exitCode(err))
			}
			return
		}
		name, levels, _ := strings.Cut(s, "=")
		if len(sets) != 1 || strings.Join(sets[name], ",") != levels {
			t.Errorf("%q was read as %v", s, sets)
		}
	})
}
