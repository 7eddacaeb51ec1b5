package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/report"
)

// listen is how long doctor watches for noise.
const listen = 500 * time.Millisecond

func newDoctor(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host can run, and what would disturb a measurement",
		Args:  exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			f, err := fingerprint(ctx)
			if err != nil {
				return err
			}
			meter := host.StartNoise()
			select {
			case <-time.After(listen):
			case <-ctx.Done():
				return stoppedBy(ctx, "")
			}
			if err := report.Host(e.out, f); err != nil {
				return err
			}
			rows := [][]string{
				{"noise", noise(meter.Stop())},
				{"governor", governor(f.Governor)},
				{"folder", folder()},
			}
			if err := writeTable(e.out, rows); err != nil {
				return err
			}
			return e.diagnose(ctx, f)
		},
	}
}

func noise(n host.Noise) string {
	if why, dirty := n.Dirty(); dirty {
		return "warning: " + why + "; close other programs before you measure"
	}
	if !n.Known {
		return "unknown on this system; close other programs before you measure"
	}
	return fmt.Sprintf("ok: quiet for %v", listen)
}

func governor(name string) string {
	if name == "performance" || name == host.Absent {
		return "ok: " + name
	}
	return "warning: " + name + " changes the CPU's clock during a run; choose governor performance"
}

// folder says what lies under the folder for real files.
func folder() string {
	dir, err := lab.RealDir()
	if err != nil {
		return "warning: " + err.Error()
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("warning: %s doesn't exist; make it, or name another with %s", dir, lab.DirVariable)
	case err == nil && !info.IsDir():
		return fmt.Sprintf("warning: %s isn't a folder; name one with %s", dir, lab.DirVariable)
	}
	p, err := host.PathInfo(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return dir + ": what lies under it is unknown on this system"
	case err != nil:
		return "warning: " + err.Error() + "; name another with " + lab.DirVariable
	case p.InMemory():
		return fmt.Sprintf("warning: %s is on %s: nothing written there meets a device; name another with %s", dir, p.FS, lab.DirVariable)
	}
	return "ok: " + p.String()
}

// diagnose opens the baseline on every rig, which probes and calibrates too. Off
// Linux it lists the rigs that need it.
func (e env) diagnose(ctx context.Context, h host.Fingerprint) error {
	rows := [][]string{{"experiment", "rig", "kind", "here"}}
	var linux []string
	for _, x := range e.experiments {
		for _, r := range x.Rigs {
			state := "ok"
			if err := tryBaseline(ctx, x, r, h); err != nil {
				state = missing(err)
				if strings.Contains(state, "Linux") {
					linux = append(linux, x.Name+" "+r.Name())
				}
			}
			rows = append(rows, []string{x.Name, r.Name(), r.Kind().String(), state})
		}
	}
	fmt.Fprintln(e.out)
	if err := writeTable(e.out, rows); err != nil {
		return err
	}
	if e.goos != "linux" && len(linux) > 0 {
		fmt.Fprintf(e.out, "\nThis is %s. These rigs need Linux: %s. The others run here.\n", e.goos, strings.Join(linux, ", "))
	}
	return nil
}

// tryBaseline opens the first arm on the rig and closes it.
func tryBaseline(ctx context.Context, x lab.Experiment, r lab.Rig, h host.Fingerprint) error {
	arms, err := x.Arms(r, lab.Selection{})
	if err != nil {
		return err
	}
	s, err := x.Open(ctx, r, arms[0], h)
	if err != nil {
		return err
	}
	return s.Close()
}

func missing(err error) string {
	var u *lab.Unavailable
	if errors.As(err, &u) {
		return "missing: " + u.Why + "; to do: " + u.Do
	}
	return "missing: " + err.Error()
}
