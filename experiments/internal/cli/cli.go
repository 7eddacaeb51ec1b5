// Package cli is the command latlab: it reads flags, calls the packages that do
// the work, and prints. Every command is a constructor that a test can call.
//
// Exit codes: 0 done; 1 failed, or a rig or all of them measured nothing; 2
// asked for in a way that can't be understood; 130, 143 or 129 ended by SIGINT
// (Ctrl-C), SIGTERM or SIGHUP, with what was measured printed and written.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/experiments/registry"
)

// env is what the commands act on.
type env struct {
	experiments registry.List
	out, err    io.Writer
	terminal    bool   // err is a terminal: show progress
	goos        string // as runtime.GOOS
}

// Main runs the command on the process's arguments and returns its exit code.
// A signal ends it in an orderly way, a second one at once.
func Main(experiments registry.List) int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	root := newRoot(env{
		experiments: experiments, out: os.Stdout, err: os.Stderr,
		terminal: term.IsTerminal(int(os.Stderr.Fd())), goos: runtime.GOOS,
	})
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "latlab: "+strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return exitCode(err)
}

func newRoot(e env) *cobra.Command {
	root := &cobra.Command{
		Use:   "latlab",
		Short: "Ask where the time goes, flip one toggle, and trust the answer",
		Long: `latlab runs storage-latency experiments. Each figure says whether it is
modelled (something underneath is simulated) or measured (a real device or server).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("no command %q; see latlab --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(e.out)
	root.SetErr(e.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newList(e), newRun(e), newCompare(e), newMerge(e), newNew(e), newRerun(e), newAudit(e), newClaims(e), newReport(e), newServe(e), newFake(e), newApp(e), newDoctor(e), newCalibrate(e), newLesson(e), newCheck(e), newMan(e), newVersion(e))
	return root
}

// usageError is a request that can't be understood.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// experimentNames completes the first argument by the experiments' names.
func (e env) experimentNames(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, x := range e.experiments {
		if len(args) == 0 && strings.HasPrefix(x.Name, begun) {
			names = append(names, x.Name+"\t"+x.Question)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// exactly demands n arguments, which the text names.
func exactly(n int, text string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usagef("%s takes %s, but got %d; see %s --help", cmd.Name(), text, len(args), cmd.CommandPath())
	}
}

func exitCode(err error) int {
	var usage usageError
	var early stopped
	switch {
	case err == nil:
		return 0
	case errors.As(err, &early):
		return early.exitCode()
	case errors.As(err, &usage), errors.Is(err, registry.ErrExperiment), errors.Is(err, lab.ErrRig),
		errors.Is(err, lab.ErrFactor), errors.Is(err, lab.ErrLevel), errors.Is(err, param.ErrParam), errors.Is(err, param.ErrValue):
		return 2
	}
	return 1
}
