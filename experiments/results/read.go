package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"latlab.example/common/lab"
	"latlab.example/experiments/stats"
)

// ErrFile occurs when a file isn't a latlab result.
var ErrFile = errors.New("not a latlab result file")

// Config says where a file's results come from: the configuration lines of the
// Go benchmark format.
type Config struct {
	Provenance            lab.Provenance
	Rig, Host, Experiment string
	// Plain says that no latlab run wrote the file: it is the output of go test
	// -bench, of which nothing is known. Its Provenance is the careful one.
	Plain bool
}

// Origin is the provenance in words: modelled, measured, or unknown.
func (c Config) Origin() string {
	if c.Plain {
		return "unknown"
	}
	return c.Provenance.String()
}

// File is a result file that was read.
type File struct {
	Path   string
	Config Config
	Units  []lab.Unit // that have a Unit line; of a plain file all, perhaps without a direction
	Names  []string   // of benchmarks, in the file's order
	values map[key][]float64
	plain  bool // results without a provenance are taken
}

type key struct{ name, unit string }

// Sample has a benchmark's figures of a unit; no values if there are none. Times
// are in seconds: benchfmt reads ns/op as sec/op.
func (f File) Sample(name string, u lab.Unit) stats.Sample {
	return stats.Sample{Provenance: f.Config.Provenance, Unit: u, Values: f.values[key{name, u.Name}]}
}

// ReadFile reads a result file. All its results must be of one configuration.
// The error wraps ErrFile, stats.ErrMixed if the file holds both provenances, or
// is that of the file system.
func ReadFile(path string) (File, error) { return open(path, false) }

// ReadAnyFile reads a result file or the output of go test -bench. The error is
// that of ReadFile.
func ReadAnyFile(path string) (File, error) { return open(path, true) }

func open(path string, plain bool) (File, error) {
	r, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer r.Close()
	return read(r, path, plain)
}

// Read is ReadFile for any reader; path names it in errors.
func Read(r io.Reader, path string) (File, error) { return read(r, path, false) }

func read(r io.Reader, path string, plain bool) (File, error) {
	f := File{Path: path, values: make(map[key][]float64), plain: plain}
	lines := benchfmt.NewReader(r, path)
	for lines.Scan() {
		switch rec := lines.Result().(type) {
		case *benchfmt.SyntaxError:
			return File{}, fmt.Errorf("%w: %w", ErrFile, rec)
		case *benchfmt.UnitMetadata:
			f.unit(rec)
		case *benchfmt.Result:
			if err := f.add(rec); err != nil {
				return File{}, err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return File{}, err
	}
	if len(f.Names) == 0 {
		return File{}, fmt.Errorf("%s: %w: it has no results; name a .txt file that `latlab run` wrote", path, ErrFile)
	}
	return f, nil
}

// declare gives the place of a unit in Units.
func (f *File) declare(name string) int {
	i := slices.IndexFunc(f.Units, func(u lab.Unit) bool { return u.Name == name })
	if i < 0 {
		i = len(f.Units)
		f.Units = append(f.Units, lab.Unit{Name: name})
	}
	return i
}

func (f *File) unit(m *benchfmt.UnitMetadata) {
	i := f.declare(m.Unit)
	switch m.Key + "=" + m.Value {
	case "better=lower":
		f.Units[i].Better = lab.Down
	case "better=higher":
		f.Units[i].Better = lab.Up
	case "assume=exact":
		f.Units[i].Exact = true
	}
}

func (f *File) add(r *benchfmt.Result) error {
	_, line := r.Pos()
	c := Config{Rig: r.GetConfig("rig"), Host: r.GetConfig("host"), Experiment: r.GetConfig("experiment")}
	switch p := r.GetConfig("provenance"); p {
	case lab.Measured.String():
		c.Provenance = lab.Measured
	case lab.Modelled.String():
	case "":
		if f.plain {
			c = Config{Plain: true, Experiment: r.GetConfig("pkg")}
			break
		}
		fallthrough
	default:
		return fmt.Errorf("%s:%d: %w: provenance is %q; name a .txt file that `latlab run` wrote", f.Path, line, ErrFile, p)
	}
	switch {
	case len(f.Names) == 0:
		f.Config = c
	case c.Provenance != f.Config.Provenance:
		return fmt.Errorf("%s:%d: %w; keep them in a file each", f.Path, line, stats.ErrMixed)
	case c != f.Config:
		return fmt.Errorf("%s:%d: %w: its results are of several rigs, hosts or experiments; keep them in a file each", f.Path, line, ErrFile)
	}
	name := r.Name.String() // benchfmt leaves out "Benchmark"
	seen := false
	for _, v := range r.Values {
		// benchfmt leaves the unit of a 0 as it is written, and makes sec/op of ns/op
		// elsewhere.
		_, unit := benchunit.Tidy(1, v.Unit)
		k := key{name, unit}
		if c.Plain {
			f.declare(unit)
		}
		seen = seen || len(f.values[k]) > 0
		f.values[k] = append(f.values[k], v.Value)
	}
	if !seen {
		f.Names = append(f.Names, name)
	}
	return nil
}
