// Package reference holds what the models of all cases give: a file each rig,
// equal to the digit on every machine. It is what the claims are held against until
// a reader has results of their own, and the test of the models' promise.
//
// Make writes the files anew; `make reference` calls it.
package reference

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/registry"
	"latlab.example/experiments/results"
	"latlab.example/experiments/runner"
)

// Seed and Blocks are those of every reference run; an interval is known from so
// many blocks on.
const (
	Seed   = 1
	Blocks = 6
)

// Files are the committed ones, under modelled/ as in a folder of results.
//
//go:embed all:modelled
var Files embed.FS

// Run is a rig's run of so many blocks, without what belongs to the machine: the
// time of day, and how long it took.
func Run(ctx context.Context, e lab.Experiment, r lab.Rig, blocks int) (runner.Set, error) {
	arms, err := e.Arms(r, lab.Selection{})
	if err != nil {
		return runner.Set{}, err
	}
	set, err := runner.Run(ctx, runner.Config{Seed: Seed, Blocks: blocks, Min: 100 * time.Millisecond, Budget: time.Hour}, e, r, arms)
	if err != nil {
		return runner.Set{}, err
	}
	if refused := set.Refused(); len(refused) > 0 {
		return runner.Set{}, fmt.Errorf("%s on rig %s, %s: %w", e.Name, r.Name(), refused[0].Arm, refused[0].Reason)
	}
	if ctx.Err() != nil {
		return runner.Set{}, context.Cause(ctx)
	}
	set.Start, set.Took = time.Time{}, 0
	for i := range set.Rows {
		row := &set.Rows[i]
		for j := range row.Trials {
			row.Trials[j].Start, row.Trials[j].End = 0, 0
		}
	}
	return set, nil
}

// Text are the set's results as in its .txt file, without the number of processors
// behind each name.
func Text(set runner.Set) ([]byte, error) {
	var out bytes.Buffer
	if err := lab.WriteResults(&out, set.Results(lab.Modelled)); err != nil {
		return nil, err
	}
	return bare(out.Bytes()), nil
}

// bare cuts the number of processors off the names of benchmarks.
func bare(text []byte) []byte {
	suffix := fmt.Sprintf("-%d", runtime.GOMAXPROCS(0))
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		if name, rest, ok := bytes.Cut(line, []byte("\t")); ok && bytes.HasPrefix(line, []byte("Benchmark")) {
			line = bytes.Join([][]byte{bytes.TrimSuffix(name, []byte(suffix)), rest}, []byte("\t"))
		}
		out.Write(line)
	}
	return out.Bytes()
}

// Name is where a rig's file lies in Files.
func Name(e lab.Experiment, r lab.Rig) string {
	// The year 1 is older than any result of a reader's.
	return "modelled/" + strings.ReplaceAll(e.Name, "/", "-") + "/00010101T000000Z-" + r.Name() + ".txt"
}

// Rigs calls do for each rig in virtual time of each experiment.
func Rigs(list registry.List, do func(lab.Experiment, lab.Rig) error) error {
	for _, e := range list {
		for _, r := range e.Rigs {
			if r.Kind() == lab.KindVirtual {
				if err := do(e, r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Make runs all and writes the files under dir, in place of those there.
func Make(ctx context.Context, list registry.List, dir string) error {
	if err := os.RemoveAll(filepath.Join(dir, "modelled")); err != nil {
		return err
	}
	return Rigs(list, func(e lab.Experiment, r lab.Rig) error {
		set, err := Run(ctx, e, r, Blocks)
		if err != nil {
			return err
		}
		paths, err := results.Write(dir, set, results.Build{})
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := slim(path, set); err != nil {
				return err
			}
		}
		return nil
	})
}

// slim leaves out of the files what a reader of the claims doesn't need, and what
// depends on the machine.
func slim(path string, set runner.Set) error {
	text, err := Text(set)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		return err
	}
	stored, err := results.ReadMetaFile(path)
	if err != nil {
		return err
	}
	m := stored.Meta
	for i := range m.Arms {
		a := &m.Arms[i]
		a.Stages, a.Times, a.Timeline = nil, nil, nil
		if i > 0 && !a.Control {
			a.Assumptions = nil // as the first arm's
		}
	}
	out, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(path, ".txt")+".json", append(out, '\n'), 0o666)
}

// Committed is the text of a rig's committed file. The error is fs.ErrNotExist's.
func Committed(e lab.Experiment, r lab.Rig) ([]byte, error) { return fs.ReadFile(Files, Name(e, r)) }
