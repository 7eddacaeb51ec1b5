package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
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
				{"limits", limits(f)},
				{"swap", swap(ctx)},
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

// limits says what a container or a slice takes away.
func limits(f host.Fingerprint) string {
	var why []string
	if f.CPUQuota > 0 {
		why = append(why, fmt.Sprintf("a quota of %g cores stops a run in the middle of a period", f.CPUQuota))
	}
	if f.GOMAXPROCS < f.Logical {
		why = append(why, fmt.Sprintf("Go uses %d of %d processors", f.GOMAXPROCS, f.Logical))
	}
	if len(why) == 0 {
		return "ok: no CPU quota, all processors"
	}
	return "warning: " + strings.Join(why, "; ") + "; lift that, or report it with the figures"
}

func swap(ctx context.Context) string {
	used, known := host.SwapUsed(ctx)
	switch {
	case !known:
		return "unknown on this system"
	case used > 0:
		return fmt.Sprintf("warning: %d MiB are swapped out; a page that comes back is a wait of the disk's", used>>20)
	}
	return "ok: none used"
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

// finding is what became of a case's rigs of one name.
type finding struct {
	on          string // case, rig, kind
	here        string
	todo        string
	experiments []string // without the case's name
}

// diagnose opens the baseline on every rig, which probes and calibrates too. Off
// Linux it lists the rigs that need it.
func (e env) diagnose(ctx context.Context, h host.Fingerprint) error {
	var found []*finding
	var linux []string
	for _, x := range e.experiments {
		for _, r := range x.Rigs {
			if ctx.Err() != nil {
				return stoppedBy(ctx, "")
			}
			here, todo := missing(tryBaseline(ctx, x, r, h))
			if strings.Contains(here+todo, "Linux") {
				linux = append(linux, x.Name+" "+r.Name())
			}
			c, question, _ := strings.Cut(x.Name, "/")
			f := finding{on: c + "\t" + r.Name() + "\t" + r.Kind().String(), here: here, todo: todo, experiments: []string{question}}
			i := slices.IndexFunc(found, func(g *finding) bool { return g.on == f.on && g.here == f.here && g.todo == f.todo })
			if i < 0 {
				found = append(found, &f)
			} else {
				found[i].experiments = append(found[i].experiments, question)
			}
		}
	}
	rows := [][]string{{"case", "rig", "kind", "experiments", "here"}}
	var todo []string
	for _, f := range found {
		rows = append(rows, append(strings.Split(f.on, "\t"), strings.Join(f.experiments, " "), f.here))
		if line := f.here + "\n  to do: " + f.todo; f.todo != "" && !slices.Contains(todo, line) {
			todo = append(todo, line)
		}
	}
	fmt.Fprintln(e.out)
	if err := writeTable(e.out, rows); err != nil {
		return err
	}
	if len(todo) > 0 {
		fmt.Fprintln(e.out)
	}
	for _, line := range todo {
		fmt.Fprintln(e.out, line)
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

// missing says in two parts why a rig can't run, and what to do about it.
func missing(err error) (here, todo string) {
	var u *lab.Unavailable
	switch {
	case err == nil:
		return "ok", ""
	case errors.As(err, &u):
		return "missing: " + u.Why, u.Do
	}
	return "missing: " + err.Error(), ""
}
