package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
)

func newList(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [CASE | EXPERIMENT]",
		Short: "Show the experiments: question, factors and levels, rigs",
		Long: `List shows what can be run: all experiments, those of a case, or one with the
parameters of its models and with what its rigs assume.`,
		ValidArgsFunction: e.experimentNames,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("list takes one case or experiment, but got %d; see %s --help", len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen := e.experiments
			if len(args) == 1 {
				var err error
				if chosen, err = e.experiments.Of(args[0]); err != nil {
					return err
				}
			}
			var all []listed
			for _, x := range chosen {
				all = append(all, newListed(cmd.Context(), x))
			}
			if asJSON {
				return writeJSON(e.out, all)
			}
			for _, l := range all {
				if err := l.write(e); err != nil {
					return err
				}
				if len(args) == 1 && args[0] == l.Name {
					if err := l.details(e, chosen[0]); err != nil {
						return err
					}
				}
			}
			fmt.Fprintln(e.out, "[level] is the baseline; level~ puts a model in place of something real.")
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

type listed struct {
	Name     string         `json:"name"`
	Question string         `json:"question"`
	Note     string         `json:"note,omitempty"`
	Rule     string         `json:"rule"`
	Factors  []listedFactor `json:"factors"`
	Rigs     []listedRig    `json:"rigs"`
}

type listedFactor struct {
	Name   string        `json:"name"`
	Levels []listedLevel `json:"levels"` // the first is the baseline
}

type listedLevel struct {
	Label     string `json:"label"`
	Simulates string `json:"simulates,omitempty"`
}

type listedRig struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"`
	Available   bool           `json:"available"`
	Why         string         `json:"why,omitempty"` // it isn't available
	Factors     []listedFactor `json:"factors"`       // of its own
	Assumptions []string       `json:"assumptions"`
	Parameters  *param.Table   `json:"parameters,omitempty"` // of a model
}

func newListed(ctx context.Context, x lab.Experiment) listed {
	l := listed{Name: x.Name, Question: x.Question, Note: x.Note, Rule: x.Rule.String(), Factors: newFactors(x.Factors)}
	for _, r := range x.Rigs {
		rig := listedRig{
			Name: r.Name(), Kind: r.Kind().String(), Available: true,
			Factors: newFactors(x.FactorsOn(r)[len(x.Factors):]), Assumptions: append([]string{}, r.Assumptions()...),
		}
		if t, ok := r.Params(); ok {
			rig.Parameters = &t
		}
		if err := r.Probe(ctx); err != nil {
			rig.Available, rig.Why = false, err.Error()
		}
		l.Rigs = append(l.Rigs, rig)
	}
	return l
}

func newFactors(factors []lab.Factor) []listedFactor {
	out := []listedFactor{}
	for _, f := range factors {
		l := listedFactor{Name: f.Name()}
		for i := range f.Len() {
			l.Levels = append(l.Levels, listedLevel{f.Label(i), f.SimulatedBy(i)})
		}
		out = append(out, l)
	}
	return out
}

func (f listedFactor) levels() string {
	var words []string
	for i, l := range f.Levels {
		word := l.Label
		if l.Simulates != "" {
			word += "~"
		}
		if i == 0 {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (l listed) write(e env) error {
	fmt.Fprintf(e.out, "%s\n  %s\n", l.Name, l.Question)
	if l.Note != "" {
		fmt.Fprintf(e.out, "  note: %s\n", l.Note)
	}
	fmt.Fprintf(e.out, "  rule: %s\n", l.Rule)
	var rows [][]string
	for _, f := range l.Factors {
		rows = append(rows, []string{"  factor", f.Name, f.levels()})
	}
	for _, r := range l.Rigs {
		state := "available"
		if !r.Available {
			state = "not available here: " + r.Why
		}
		for _, f := range r.Factors {
			state += "; " + f.Name + " " + f.levels()
		}
		rows = append(rows, []string{"  rig", r.Name, r.Kind + ", " + state})
	}
	if err := writeTable(e.out, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(e.out)
	return err
}

// details are the parameters of the experiment's models, and what its other rigs
// assume.
func (l listed) details(e env, x lab.Experiment) error {
	for i, r := range l.Rigs {
		if r.Parameters != nil {
			fmt.Fprintf(e.out, "parameters of rig %s\n", r.Name)
			if err := r.Parameters.WriteText(e.out); err != nil {
				return err
			}
			fmt.Fprintln(e.out)
			continue
		}
		for _, a := range x.Rigs[i].Assumptions() {
			fmt.Fprintf(e.out, "rig %s assumes: %s\n", r.Name, a)
		}
	}
	return nil
}
