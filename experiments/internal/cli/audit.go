package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"latlab.example/common/laws"
	"latlab.example/experiments/audit"
	"latlab.example/experiments/claims"
)

func newAudit(e env) *cobra.Command {
	var f laws.Figures
	var only string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit [FILE.csv]",
		Short: "Hold published figures against laws that they must obey",
		Long: `Audit holds figures against laws that every system obeys: Little's law, the
utilisation and response-time laws, what percentiles and shares say about a mean,
what more latency or more work does to a time, and what figures that were worked
out from others must be. It prints what is impossible first, then what is
implausible with the assumption it would need, then what must be true.

Without an argument it audits the figures of the published studies that latlab
re-creates. With a file it audits your own: a table with the columns

  ` + strings.Join(audit.Columns()[:3], ", ") + ` and, as far as you know them,
  ` + strings.Join(audit.Columns()[3:], ", ") + `

Rows of one run share its name. quantity is response, throughput, part, hold,
think, time, slow, slow count, limit, success or users; statistic is mean, p95,
max and so on. A relation is, say, "= change(a, b)", "part of a" or "same as a";
rows without a value state one: "a < b".

With flags it audits the figures of one run. Give figures as they were written:
their digits say how far they were rounded. Exit code 0 says that the audit was
done, whatever it found.`,
		Example: `  latlab audit --case rawblock
  latlab audit figures.csv
  latlab audit --users 150 --rps 46 --mean 10ms
  latlab audit --rps 42.56 --mean 152ms --p95 701ms --slow 0.48% --limit 500ms`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes at most one table, but got %d; see %s --help", cmd.Name(), len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			one := figureFlag(cmd.Flags())
			switch {
			case one != "" && len(args) > 0:
				return usagef("--%s is a figure of one run, and %s a table: give one of them", one, args[0])
			case only != "" && (one != "" || len(args) > 0):
				return usagef("--case is for the published studies: leave it out")
			case one != "":
				return auditOne(e, f, asJSON)
			}
			report, err := auditTable(args, only)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(e.out, report)
			}
			return report.WriteText(e.out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&only, "case", "", "only this study's figures")
	flags.StringVar(&f.Users, "users", "", "virtual users, or the concurrency")
	flags.StringVar(&f.PerSec, "rps", "", "finished requests a second, of all users")
	flags.StringVar(&f.Mean, "mean", "", "mean response time, as 10ms")
	flags.StringVar(&f.P50, "p50", "", "response time that half of the requests take at most")
	flags.StringVar(&f.P95, "p95", "", "response time that 95 % take at most")
	flags.StringVar(&f.P99, "p99", "", "response time that 99 % take at most")
	flags.StringVar(&f.Max, "max", "", "longest response time")
	flags.StringVar(&f.Think, "think", "", "mean think time of a user")
	flags.StringVar(&f.Pool, "pool", "", "connections or servers that requests share")
	flags.StringVar(&f.Hold, "hold", "", "mean time that a request keeps one of the pool busy")
	flags.StringVar(&f.Slow, "slow", "", "share of requests that took --limit or longer, as 0.48% (0.48 without % means 48 %)")
	flags.StringVar(&f.Limit, "limit", "", "response time from which a request is slow")
	flags.StringVar(&f.Success, "success", "", "share of requests that succeeded, as 97.2% (0.972 means the same)")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// figureFlag is the first flag given that is a figure of one run.
func figureFlag(flags *pflag.FlagSet) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if name == "" && f.Name != "json" && f.Name != "case" && f.Name != "help" {
			name = f.Name
		}
	})
	return name
}

// auditOne audits the figures of one run, given as flags.
func auditOne(e env, f laws.Figures, asJSON bool) error {
	if f.Limit != "" && f.Slow == "" || f.Slow != "" && f.Limit == "" && f.Success == "" {
		return usagef("--slow is the share of requests that took --limit or longer: give both")
	}
	findings, err := laws.Audit(f)
	if errors.Is(err, laws.ErrArgument) || errors.Is(err, laws.ErrTooFew) {
		return usageError{err}
	} else if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(e.out, findings)
	}
	return laws.WriteText(e.out, findings)
}

// auditTable audits a file, or the published studies if none is named.
func auditTable(args []string, only string) (audit.Report, error) {
	if len(args) > 0 {
		table, err := audit.ReadFile(args[0])
		if err != nil {
			return audit.Report{}, err
		}
		return table.Audit(), nil
	}
	study, err := claims.Load()
	if err != nil {
		return audit.Report{}, err
	}
	if err := study.CheckCase(only); err != nil {
		return audit.Report{}, usageError{err}
	}
	return study.Report.Of(only), nil
}
