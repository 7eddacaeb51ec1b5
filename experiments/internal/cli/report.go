package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"latlab.example/common/fidelity"
	"latlab.example/common/lab"
	"latlab.example/experiments/claims"
	"latlab.example/experiments/page"
	"latlab.example/experiments/results"
)

func newReport(e env) *cobra.Command {
	var out, production, wasm string
	var models bool
	cmd := &cobra.Command{
		Use:   "report [RESULTS...]",
		Short: "Make one HTML file of results, which opens offline",
		Long: `Report reads the results of runs and writes one HTML file with verdicts,
intervals, stages, distributions and curves. It opens from disk and makes no
request. Name folders or single result files; without a name it reads ./results.

A file in a folder that can't be read is left out, and the report names it. A file
that you name must be one of a run, or what latlab run printed with --sweep or
--tornado and --json.

The claims of the cases that have results are set beside them. With --production
the hosts of the results are held beside declared facts, one a line: cores = 2.

With --explore it writes the page of latlab serve as one file, with the models
inside it as WebAssembly: it opens from disk too. make explore builds both.`,
		Example: `  latlab report
  latlab report results/measured --out measured.html
  latlab report results sweep.json --production facts.txt
  latlab report --explore --wasm .bin/explore.wasm`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef("--out: want the name of a file")
			}
			if given := cmd.Flags().Changed; models {
				if len(args) > 0 || given("production") {
					return usagef("--explore makes a page of the models, which has no results; leave out what is named beside it")
				}
				if !given("out") {
					out = "explore.html"
				}
				return writeExplored(e, out, wasm)
			} else if given("wasm") {
				return usagef("--wasm goes with --explore")
			}
			if len(args) == 0 {
				args = []string{"results"}
			}
			return writeReport(cmd.Context(), e, args, out, production)
		},
	}
	cmd.Flags().StringVar(&out, "out", "report.html", "file to write")
	cmd.Flags().BoolVar(&models, "explore", false, "make the page of latlab serve instead, with the models inside it")
	cmd.Flags().StringVar(&wasm, "wasm", "", "with --explore: the models, built for a browser (default explore.wasm beside this program)")
	cmd.Flags().StringVar(&production, "production", "", "file with facts of production to hold the hosts beside")
	return cmd
}

func writeReport(ctx context.Context, e env, args []string, out, production string) error {
	in, err := readResults(args)
	if err != nil {
		return err
	}
	if production != "" {
		if in.Fidelity, err = fidelities(production, in.Runs); err != nil {
			return err
		}
	}
	if in.Claims, err = claimsOf(ctx, e, args, in.Runs); err != nil {
		return err
	}
	for _, x := range e.experiments {
		in.Order = append(in.Order, x.Name)
	}
	in.Made, in.Build = time.Now(), results.ReadBuild()
	for _, s := range in.Skipped {
		fmt.Fprintf(e.err, "latlab: %s is left out: %v\n", s.Path, s.Err)
	}
	p, err := page.New(in)
	if errors.Is(err, page.ErrNothing) {
		return fmt.Errorf("report: %w in %s; make some with latlab run", err, strings.Join(args, ", "))
	} else if err != nil {
		return err
	}
	size, err := writeWhole(out, p)
	if err != nil {
		return fmt.Errorf("report: %w; name another with --out", err)
	}
	full, err := filepath.Abs(out)
	if err != nil {
		full = out
	}
	fmt.Fprintf(e.out, "%s (%d KiB): %s\n", full, (size+1023)/1024, p.Counts)
	for _, line := range summary(in) {
		fmt.Fprintln(e.out, line)
	}
	return nil
}

// summary says in four lines what a report holds.
func summary(in page.Input) []string {
	tally := func(counts map[lab.Verdict]int) string {
		return fmt.Sprintf("%d hold, %d fail, %d inconclusive", counts[lab.Holds], counts[lab.Fails], counts[lab.Inconclusive])
	}
	arms := map[string]map[lab.Verdict]int{lab.Modelled.String(): {}, lab.Measured.String(): {}}
	trials, dirty := 0, 0
	for _, s := range in.Runs {
		for _, a := range s.Meta.Arms {
			if a.Effect != nil && !a.Control {
				arms[s.Meta.Provenance][a.Effect.Verdict]++
			}
			for _, t := range a.Trials {
				trials++
				if t.Dirty != "" {
					dirty++
				}
			}
		}
	}
	claimed := map[lab.Verdict]int{}
	onReal := map[lab.Verdict]int{}
	for _, c := range in.Claims {
		claimed[c.Modelled.Verdict]++
		onReal[c.Measured.Verdict]++
	}
	return []string{
		"  modelled arms  " + tally(arms[lab.Modelled.String()]),
		"  measured arms  " + tally(arms[lab.Measured.String()]),
		fmt.Sprintf("  trials         %d, of which others disturbed %d", trials, dirty),
		fmt.Sprintf("  claims         %d: modelled %s; measured %s", len(in.Claims), tally(claimed), tally(onReal)),
	}
}

// readResults reads folders and files. One that is named must be readable.
func readResults(args []string) (page.Input, error) {
	var in page.Input
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case errors.Is(err, fs.ErrNotExist) && arg == "results" && len(args) == 1:
			return in, fmt.Errorf("report: %w: there is no folder ./results; make some with latlab run, or name another", page.ErrNothing)
		case err != nil:
			return in, fmt.Errorf("report: %w", err)
		case info.IsDir():
			f, err := results.ReadFolder(arg)
			if err != nil {
				return in, fmt.Errorf("report: %w", err)
			}
			in.Runs, in.Sweeps = append(in.Runs, f.Runs...), append(in.Sweeps, f.Sweeps...)
			in.Tornados, in.Skipped = append(in.Tornados, f.Tornados...), append(in.Skipped, f.Skipped...)
		default:
			if err := in.Read(arg); err != nil {
				return in, fmt.Errorf("report: %w", err)
			}
		}
	}
	seen := make(map[string]bool) // a file may lie in a folder that is named too
	in.Runs = slices.DeleteFunc(in.Runs, func(s results.Stored) bool {
		full, err := filepath.Abs(s.Path)
		again := err == nil && seen[full]
		seen[full] = true
		return again
	})
	return in, nil
}

// claimsOf are the claims of the cases that have results.
func claimsOf(ctx context.Context, e env, args []string, runs []results.Stored) ([]page.Claim, error) {
	study, err := claims.Load()
	if err != nil {
		return nil, err
	}
	have := make(map[string]bool)
	for _, s := range runs {
		name, _, _ := strings.Cut(s.Meta.Experiment, "/")
		have[name] = true
	}
	var texts []string // of which the ledger reads the .txt
	for _, arg := range args {
		if base, ok := strings.CutSuffix(arg, ".json"); ok {
			arg = base + ".txt"
		}
		texts = append(texts, arg)
	}
	found, err := claims.ReadResults(texts...)
	if err != nil {
		return nil, err
	}
	var all []page.Claim
	for _, name := range study.Cases() {
		if !have[name] {
			continue
		}
		entries, err := study.Ledger(ctx, e.experiments, found, name)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			all = append(all, pageClaim(entry))
		}
	}
	return all, nil
}

func pageClaim(e claims.Entry) page.Claim {
	c := page.Claim{
		Case: e.Claim.Case, Text: e.Claim.Text, Published: e.Claim.Published, Verdict: e.Verdict(),
		Modelled: pageSide(e.Modelled), Measured: pageSide(e.Measured),
	}
	if e.Claim.Experiment == "" {
		c.Why, c.Modelled, c.Measured = e.Claim.Why, page.Side{}, page.Side{}
	}
	for _, f := range e.Audit {
		c.Audit = append(c.Audit, page.Finding{Grade: string(f.Grade), Text: f.Text})
	}
	return c
}

func pageSide(s claims.Side) page.Side {
	out := page.Side{Verdict: s.Verdict, Note: strings.Join(s.Missing, "; ")}
	for _, a := range s.Answers {
		out.Answers = append(out.Answers, page.Answer{Rig: a.Rig, Effect: a.Effect, Reason: a.Reason, Verdict: a.Verdict})
	}
	if len(s.Answers)+len(s.Missing) == 0 {
		out.Note = s.Reason
	}
	return out
}

// fidelities hold each host of the results beside what is declared of production.
func fidelities(file string, runs []results.Stored) ([]page.Fidelity, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--production: %w", err)
	}
	declared, err := fidelity.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("--production %s: %w", file, err)
	}
	var all []page.Fidelity
	seen := make(map[string]bool)
	for _, s := range runs {
		id, h := s.Meta.HostID, s.Meta.Host
		if h == nil || seen[id] {
			continue
		}
		seen[id] = true
		// Of the process that measured, and not of this one.
		share := "all cores"
		if h.CPUQuota > 0 {
			share = fmt.Sprintf("quota %.3g", h.CPUQuota)
		}
		here := fidelity.Host(*h).With(
			fidelity.Fact{Name: fidelity.Cores, Value: fmt.Sprint(h.Logical), Why: "hardware threads of the host"},
			fidelity.Fact{Name: fidelity.CPUShare, Value: share},
			fidelity.Fact{Name: fidelity.GOMAXPROCS, Value: fmt.Sprint(h.GOMAXPROCS), Why: "of the process that measured"},
		)
		all = append(all, page.Fidelity{Title: "host " + id, Table: fidelity.Compare(declared, here)})
	}
	return all, nil
}

// writeWhole puts the page in place at once: a page that is open in a browser is
// never half a page. A link keeps its name, and what is no regular file, such as a
// pipe or /dev/null, is written to.
func writeWhole(out string, p interface{ Write(io.Writer) error }) (size int64, err error) {
	if to, err := filepath.EvalSymlinks(out); err == nil {
		out = to
	}
	switch info, err := os.Stat(out); {
	case err != nil: // nothing is there yet, or the file that is made says why not
	case info.IsDir():
		return 0, fmt.Errorf("%s is a folder; name a file in it with --out", out)
	case !info.Mode().IsRegular():
		f, err := os.OpenFile(out, os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		return 0, errors.Join(p.Write(f), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(out), ".*.tmp")
	if err != nil {
		return 0, fmt.Errorf("no file can be made in folder %s: %w", filepath.Dir(out), err)
	}
	defer os.Remove(f.Name()) // what is in place has another name
	err = p.Write(f)
	info, serr := f.Stat()
	if err := errors.Join(err, serr, f.Chmod(0o644), f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), os.Rename(f.Name(), out)
}
