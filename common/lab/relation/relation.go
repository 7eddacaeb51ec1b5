// Package relation puts what a study says beside what a model of it gives: each
// published relation with the modelled figures, a verdict, and the assumption on
// which it rests.
package relation

import (
	"fmt"
	"io"
	"strings"

	"latlab.example/common/lab"
)

// Relation is something that a study says, and a model's answer.
type Relation struct {
	Name      string      // short, without spaces
	Says      string      // the study's sentence, in our words
	Rows      []string    // of the published table, by id
	Published string      // its figures
	Modelled  string      // the model's
	Verdict   lab.Verdict // Holds: the model reproduces it. Fails: it can't. Inconclusive: it does under some assumptions
	Why       string      // what decides, and the assumption that it rests on
}

// Write writes a paragraph a relation. It returns the error of w.
func Write(w io.Writer, all []Relation) error {
	var s strings.Builder
	for _, r := range all {
		fmt.Fprintf(&s, "%s: %s\n  says       %s (%s)\n  published  %s\n  modelled   %s\n  because    %s\n", r.Name, r.Verdict, r.Says, strings.Join(r.Rows, ", "), r.Published, r.Modelled, r.Why)
	}
	_, err := io.WriteString(w, s.String())
	return err
}
