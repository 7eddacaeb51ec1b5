package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"latlab.example/experiments/lesson"
	"latlab.example/experiments/report"
)

func newLesson(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "lesson [CASE]",
		Short: "Learn a case: predict, run, compare, flip the next toggle",
		Long: `Lesson tells a case as a mystery. It asks for a prediction, runs the experiment that
answers it, and says how far off the prediction was. It needs no server: the runs
are models and real code in virtual time.

Answers are read from standard input, a line each; at its end the lesson goes on
without predictions. Without a case it lists the lessons.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("lesson takes one case, but got %d; see %s --help", len(args), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, l := range lesson.All {
				if len(args) == 0 && strings.HasPrefix(l.Case, begun) {
					names = append(names, l.Case+"\t"+l.Title)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				var rows [][]string
				for _, l := range lesson.All {
					rows = append(rows, []string{"latlab lesson " + l.Case, fmt.Sprintf("%d minutes", l.Minutes), l.Title})
				}
				return writeTable(e.out, rows)
			}
			l, err := lesson.Find(args[0])
			if err != nil {
				return usageError{err}
			}
			in := bufio.NewReader(cmd.InOrStdin())
			err = l.Play(cmd.Context(), e.out, e.experiments, func() (string, bool) {
				line, err := in.ReadString('\n')
				return line, err == nil || line != ""
			})
			return stoppedOr(cmd.Context(), err)
		},
	}
}

func newCheck(e env) *cobra.Command {
	var answer bool
	cmd := &cobra.Command{
		Use:   "check CASE/EXERCISE [factor=level ...]",
		Short: "Try to solve an exercise of a lesson by flipping toggles",
		Long: `Check runs an exercise's slow setting and your attempt side by side, and says if the
goal is reached. Exit code 1 means that it isn't. Without an attempt it shows the
exercise.`,
		Example: `  latlab check rawblock/one-channel
  latlab check rawblock/one-channel strategy=batch`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("check takes the name of an exercise, but got none; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			l, x, err := lesson.FindExercise(args[0])
			if err != nil {
				return usageError{err}
			}
			switch {
			case answer && len(args) > 1:
				return usagef("--answer shows the answer and tries nothing; leave out %s", strings.Join(args[1:], " "))
			case answer:
				text, err := x.Answer(l)
				if err != nil {
					return err
				}
				_, err = io.WriteString(e.out, text)
				return err
			case len(args) == 1:
				_, err := fmt.Fprintf(e.out, "%sgoal        %s\ntry         latlab check %s factor=level\n", report.Paragraphs(x.Text), x.Goal(), args[0])
				return err
			}
			o, solved, err := x.Check(cmd.Context(), e.experiments, args[1:])
			if errors.Is(err, lesson.ErrSettings) {
				return usageError{err}
			} else if err != nil {
				return stoppedOr(cmd.Context(), err)
			}
			fmt.Fprintf(e.out, "%s on rig %s: MODELLED, seed %d\nbefore      %s %s\nyours       %s\nchange      %s\ngoal        %s\n",
				o.Set.Experiment.Name, o.Set.Rig.Name(), lesson.Seed,
				report.Summary(o.Unit, o.Base.Figures[o.Unit.Name]), o.Unit.Name,
				report.Summary(o.Unit, o.Changed.Figures[o.Unit.Name]), report.Change(o.Ratio), x.Goal())
			if solved {
				_, err := fmt.Fprintln(e.out, "solved")
				return err
			}
			if strings.Join(args[1:], "/") == x.Obvious {
				fmt.Fprintf(e.out, "why not     %s\n", x.Why)
			}
			return fmt.Errorf("check %s: %w; try another toggle", args[0], lesson.ErrUnsolved)
		},
	}
	cmd.Flags().BoolVar(&answer, "answer", false, "show the answer")
	return cmd
}
