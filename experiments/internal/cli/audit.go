package cli

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"latlab.example/common/laws"
)

func newAudit(e env) *cobra.Command {
	var f laws.Figures
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Say what must be true of a run's published figures",
		Long: `Audit holds the figures of one steady run against laws that every system obeys:
Little's law, the utilisation and response-time laws, and what percentiles and
shares say about a mean. It prints what is impossible first, then what is
implausible with the assumption it would need, then what must be true.

Give figures as they were written: their digits say how far they were rounded.
Exit code 0 says that the audit was done, whatever it found.`,
		Example: `  latlab audit --users 150 --rps 46 --mean 10ms
  latlab audit --rps 42.56 --mean 152ms --p95 701ms --slow 0.48% --limit 500ms`,
		Args: exactly(0, "flags, no argument"),
		RunE: func(*cobra.Command, []string) error {
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
				enc := json.NewEncoder(e.out)
				enc.SetIndent("", "  ")
				return enc.Encode(findings)
			}
			return laws.WriteText(e.out, findings)
		},
	}
	flags := cmd.Flags()
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
