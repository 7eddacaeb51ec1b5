package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/registry"
	"latlab.example/experiments/runner"
)

// stop interrupts its own process in the middle of the third block.
var stop = lab.Experiment{
	Name: "toy/stop", Question: "Is what was measured kept?",
	Factors: []lab.Factor{toy.Strategy}, Rule: lab.Faster(0.10),
	Rigs: []lab.Rig{lab.Virtual("model", []string{"a toy"}, toy.Opens(stopping))},
}

var stopTrials atomic.Int64

func stopping(ctx context.Context, _ lab.Arm, t *lab.Trial) error {
	// Three arms and the control: 4 trials of warm-up and 4 a block.
	if stopTrials.Add(1) > 4+2*4+2 {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(os.Interrupt)
		}
		if err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	t.Ops, t.Took = 1, time.Millisecond
	return nil
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"latlab": func() { os.Exit(Main(registry.New([]lab.Experiment{toy.Speed, toy.Locked, stop}))) },
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
			if cond != "shm" {
				return false, fmt.Errorf("no condition %q", cond)
			}
			p, err := host.PathInfo("/dev/shm")
			return err == nil && p.InMemory(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"result": result,
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
	// One line, whatever went wrong.
	if stderr := ts.ReadFile("stderr"); code != 0 && strings.Count(stderr, "\n") != 1 {
		ts.Fatalf("want one line of error, not\n%s", stderr)
	}
}

// result copies the first result file under a folder: result a.txt results/modelled.
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
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(found)), 0o600))
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
