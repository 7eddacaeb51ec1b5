package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"latlab.example/common/lab"
	"latlab.example/experiments/report"
	"latlab.example/experiments/results"
	"latlab.example/experiments/stats"
)

// What two sides of a comparison may differ in, as --across names it.
const (
	acrossProvenance = "provenance"
	acrossHost       = "host"
	acrossRig        = "rig"
)

func newCompare(e env) *cobra.Command {
	var across []string
	cmd := &cobra.Command{
		Use:   "compare A.txt B.txt | A.txt ARM ARM",
		Short: "Set two result files, or two arms of one, side by side",
		Long: `Compare shows the medians of each arm in both files with their intervals, the
change from A to B, and the p of a Mann-Whitney U test, not corrected for the
number of rows. Two arms of one file are named by their levels, as
strategy=loop,keys=100.

It refuses files of different experiments, and, unless --across names it, of
different provenance, host or rig. Across provenances there is no p: a model has
no noise of this host.

The output of go test -bench is compared too, if both files are such output.
Nothing is known of its provenance.`,
		Example: `  latlab compare old.txt new.txt
  latlab compare results.txt strategy=sequential strategy=batch
  latlab compare modelled.txt measured.txt --across provenance,rig,host`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 || len(args) == 3 {
				return nil
			}
			return usagef("compare takes two result files, or one and two arms, but got %d; see %s --help", len(args), cmd.CommandPath())
		},
		RunE: func(_ *cobra.Command, args []string) error {
			for _, a := range across {
				if !slices.Contains([]string{acrossProvenance, acrossHost, acrossRig}, a) {
					return usagef("--across %q: want some of provenance, host, rig", a)
				}
			}
			a, err := results.ReadAnyFile(args[0])
			if err != nil {
				return err
			}
			if len(args) == 3 {
				return compareArms(e, a, args[1], args[2])
			}
			b, err := results.ReadAnyFile(args[1])
			if err != nil {
				return err
			}
			return compareFiles(e, a, b, across)
		},
	}
	cmd.Flags().StringSliceVar(&across, "across", nil, "what the files may differ in: provenance, host, rig")
	return cmd
}

// errDiffer occurs when two files are of different experiments, rigs or hosts.
var errDiffer = errors.New("can't be compared")

func comparable(a, b results.File, across []string) error {
	where := fmt.Sprintf("compare %s with %s", a.Path, b.Path)
	ca, cb := a.Config, b.Config
	allowed := func(what string) bool { return slices.Contains(across, what) }
	switch {
	case ca.Plain != cb.Plain:
		plain := a.Path
		if cb.Plain {
			plain = b.Path
		}
		return fmt.Errorf("%s: %w: %s is plain output of go test -bench, of which nothing is known; compare it with another such file", where, stats.ErrMixed, plain)
	case ca.Experiment != cb.Experiment:
		return fmt.Errorf("%s: %w: one is of experiment %s, the other of %s; compare runs of one experiment", where, errDiffer, ca.Experiment, cb.Experiment)
	case ca.Provenance != cb.Provenance && !allowed(acrossProvenance):
		return fmt.Errorf("%s: %w: the first is %s, the second %s; compare within one provenance, or say --across %s", where, stats.ErrMixed, ca.Provenance, cb.Provenance, differences(ca, cb))
	case ca.Host != cb.Host && !allowed(acrossHost):
		return fmt.Errorf("%s: %w: one is from host %s, the other from %s; compare runs of one host, or say --across %s", where, errDiffer, ca.Host, cb.Host, differences(ca, cb))
	case ca.Rig != cb.Rig && !allowed(acrossRig):
		return fmt.Errorf("%s: %w: one is from rig %s, the other from %s; compare runs of one rig, or say --across %s", where, errDiffer, ca.Rig, cb.Rig, differences(ca, cb))
	}
	return nil
}

// differences is the value of --across that two files need.
func differences(a, b results.Config) string {
	var all []string
	if a.Provenance != b.Provenance {
		all = append(all, acrossProvenance)
	}
	if a.Host != b.Host {
		all = append(all, acrossHost)
	}
	if a.Rig != b.Rig {
		all = append(all, acrossRig)
	}
	return strings.Join(all, ",")
}

// pairing is two benchmarks that are set side by side, and what they are called.
type pairing struct{ a, b, name string }

func compareFiles(e env, a, b results.File, across []string) error {
	if err := comparable(a, b, across); err != nil {
		return err
	}
	pairs, alone, common, err := match(a, b)
	if err != nil {
		return err
	}
	rows, single, err := compareRows(a, b, pairs)
	if err != nil {
		return err
	}
	if len(rows) == 1 {
		return fmt.Errorf("compare %s with %s: %w: they have no arm and unit in common", a.Path, b.Path, errDiffer)
	}
	alone = append(alone, single...)
	title := a.Config.Experiment
	if a.Config.Plain {
		title += ": go test -bench output of UNKNOWN provenance"
	} else if a.Config == b.Config {
		title = fmt.Sprintf("%s on rig %s, host %s: %s", title, a.Config.Rig, a.Config.Host, strings.ToUpper(a.Config.Origin()))
	} else {
		title += ": ACROSS " + differences(a.Config, b.Config)
	}
	fmt.Fprintf(e.out, "%s\nA  %s\nB  %s\nboth  %s\n\n", title, side(a, b), side(b, a), common)
	if err := writeTable(e.out, rows); err != nil {
		return err
	}
	for _, line := range alone {
		fmt.Fprintln(e.out, line)
	}
	return nil
}

// side is a file, with where it is from if the other is from elsewhere.
func side(f, other results.File) string {
	if f.Config == other.Config {
		return f.Path
	}
	return fmt.Sprintf("%s (%s on rig %s, host %s)", f.Path, f.Config.Origin(), f.Config.Rig, f.Config.Host)
}

// compareRows has a row a unit and pair, and a line for what only one side has.
// Both columns carry their provenance where it differs.
func compareRows(a, b results.File, pairs []pairing) (rows [][]string, alone []string, err error) {
	head := []string{"provenance", "unit", "arm", "A", "B", "change", "p"}
	origin := a.Config.Origin()
	if a.Config.Provenance != b.Config.Provenance {
		head[3], head[4] = "A "+origin, "B "+b.Config.Origin()
		origin += "|" + b.Config.Origin()
	}
	rows = [][]string{head}
	for _, u := range a.Units {
		for _, p := range pairs {
			sa, sb := a.Sample(p.a, u), b.Sample(p.b, u)
			switch {
			case len(sa.Values) == 0 && len(sb.Values) == 0:
				continue
			case len(sb.Values) == 0:
				alone = append(alone, fmt.Sprintf("only in A: %s %s", p.name, u.Name))
				continue
			case len(sa.Values) == 0:
				alone = append(alone, fmt.Sprintf("only in B: %s %s", p.name, u.Name))
				continue
			}
			c, err := set(sa, sb)
			if err != nil {
				return nil, nil, err
			}
			rows = append(rows, []string{
				origin, u.Name, p.name, report.Summary(u, c.A), report.Summary(u, c.B), report.Percent(c.Change()), report.P(c.P),
			})
		}
	}
	return rows, alone, nil
}

// set sets two samples side by side, across provenances without a p.
func set(a, b stats.Sample) (stats.Comparison, error) {
	if a.Provenance == b.Provenance {
		return stats.Compare(a, b)
	}
	return stats.Across(a, b)
}

// match pairs the benchmarks of two files. Of two rigs, a factor that only one of
// them has, as a fake's latency, is left out of its names.
func match(a, b results.File) (pairs []pairing, alone []string, common string, err error) {
	own := func(f, other results.File) (map[string]string, error) {
		have, all := factors(other), f.Config.Rig == other.Config.Rig
		names := make(map[string]string)
		for _, name := range f.Names {
			var parts []string
			bare := name
			if !all {
				bare = withoutProcs(name)
			}
			for _, part := range strings.Split(bare, "/") {
				if key, _, ok := strings.Cut(part, "="); !ok || all || have[key] {
					parts = append(parts, part)
				}
			}
			short := strings.Join(parts, "/")
			if first, taken := names[short]; taken {
				return nil, fmt.Errorf("compare %s with %s: %w: %s and %s of %s differ only in what %s doesn't have; compare runs with one level of that, as with --set", a.Path, b.Path, errDiffer, first, name, f.Path, other.Path)
			}
			names[short] = name
		}
		return names, nil
	}
	inA, err := own(a, b)
	if err != nil {
		return nil, nil, "", err
	}
	inB, err := own(b, a)
	if err != nil {
		return nil, nil, "", err
	}
	var all []string
	for short := range inA {
		all = append(all, short)
	}
	for short := range inB {
		all = append(all, short)
	}
	shown, common := shortNames(all)
	for _, name := range a.Names {
		for short, full := range inA {
			if full != name {
				continue
			}
			if other, ok := inB[short]; ok {
				pairs = append(pairs, pairing{name, other, shown[short]})
			} else {
				pairs = append(pairs, pairing{name, "", shown[short]})
			}
		}
	}
	for _, name := range b.Names {
		for short, full := range inB {
			if _, both := inA[short]; full == name && !both {
				for _, u := range b.Units {
					if len(b.Sample(name, u).Values) > 0 {
						alone = append(alone, fmt.Sprintf("only in B: %s %s", shown[short], u.Name))
					}
				}
			}
		}
	}
	return pairs, alone, common, nil
}

// withoutProcs cuts the number of processors off a benchmark's name, as in
// keys=100-2: it belongs to the name, not to the level that stands last.
func withoutProcs(name string) string {
	if i := strings.LastIndexByte(name, '-'); i >= 0 && name[i+1:] != "" && strings.Trim(name[i+1:], "0123456789") == "" {
		return name[:i]
	}
	return name
}

// factors are the keys in a file's benchmark names.
func factors(f results.File) map[string]bool {
	keys := make(map[string]bool)
	for _, name := range f.Names {
		for _, part := range strings.Split(name, "/") {
			if key, _, ok := strings.Cut(part, "="); ok {
				keys[key] = true
			}
		}
	}
	return keys
}

// compareArms sets two arms of one file side by side.
func compareArms(e env, f results.File, first, second string) error {
	a, err := arm(f, first)
	if err != nil {
		return err
	}
	b, err := arm(f, second)
	if err != nil {
		return err
	}
	rows, alone, err := compareRows(f, f, []pairing{{a, b, "-"}})
	if err != nil {
		return err
	}
	for i := range rows { // every row has the same arms
		rows[i] = slices.Delete(rows[i], 2, 3)
	}
	fmt.Fprintf(e.out, "%s on rig %s, host %s: %s, %s\nA  %s\nB  %s\n\n", f.Config.Experiment, f.Config.Rig, f.Config.Host,
		strings.ToUpper(f.Config.Origin()), f.Path, a, b)
	if err := writeTable(e.out, rows); err != nil {
		return err
	}
	for _, line := range alone {
		fmt.Fprintln(e.out, line)
	}
	return nil
}

// arm is the only benchmark of a file that has these levels, or the one that has
// no other level but the baseline's: the first of the file.
func arm(f results.File, levels string) (string, error) {
	want := strings.FieldsFunc(levels, func(r rune) bool { return r == ',' || r == '/' })
	if len(want) == 0 {
		return "", usagef("compare: %q: want factor=level[,factor=level]", levels)
	}
	base := strings.Split(f.Names[0], "/")
	var found, near []string
	for _, name := range f.Names {
		parts := strings.Split(name, "/")
		if !slices.ContainsFunc(want, func(w string) bool { return !hasPart(parts, w) }) {
			found = append(found, name)
			rest := slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return slices.ContainsFunc(want, func(w string) bool { return samePart(p, w) }) })
			if !slices.ContainsFunc(rest, func(p string) bool { return !slices.Contains(base, p) }) {
				near = append(near, name)
			}
		}
	}
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("compare: %s: %w %q; it has: %s", f.Path, lab.ErrLevel, levels, strings.Join(f.Names, ", "))
	case len(found) == 1:
		return found[0], nil
	case len(near) == 1:
		return near[0], nil
	}
	return "", usagef("compare: %q is several arms of %s: %s; name more levels", levels, f.Path, strings.Join(found, ", "))
}

func hasPart(parts []string, want string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return samePart(p, want) })
}

// samePart says that a part of a benchmark's name is that level: the last part
// also has the number of processors, as keys=100-2.
func samePart(part, want string) bool {
	return part == want || withoutProcs(part) == want
}

// shortNames leaves out of benchmark names the parts that all have, and returns
// those as one text.
func shortNames(all []string) (names map[string]string, common string) {
	count := make(map[string]int)
	seen := make(map[string]bool)
	for _, name := range all {
		if !seen[name] {
			seen[name] = true
			for _, part := range strings.Split(name, "/") {
				count[part]++
			}
		}
	}
	names = make(map[string]string)
	for name := range seen {
		var own, shared []string
		for _, part := range strings.Split(name, "/") {
			if count[part] == len(seen) {
				shared = append(shared, part)
			} else {
				own = append(own, part)
			}
		}
		if len(own) == 0 {
			own = []string{"-"}
		}
		names[name], common = strings.Join(own, " "), strings.Join(shared, " ")
	}
	return names, common
}
