package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"latlab.example/common/lab"
)

func newList(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show the experiments: question, factors and levels, rigs",
		Args:  exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []listed
			for _, x := range e.experiments {
				all = append(all, newListed(cmd.Context(), x))
			}
			if asJSON {
				return writeJSON(e.out, all)
			}
			for _, l := range all {
				if err := l.write(e); err != nil {
					return err
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
}

func newListed(ctx context.Context, x lab.Experiment) listed {
	l := listed{Name: x.Name, Question: x.Question, Note: x.Note, Rule: x.Rule.String(), Factors: newFactors(x.Factors)}
	for _, r := range x.Rigs {
		rig := listedRig{
			Name: r.Name(), Kind: r.Kind().String(), Available: true,
			Factors: newFactors(x.FactorsOn(r)[len(x.Factors):]), Assumptions: append([]string{}, r.Assumptions()...),
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
