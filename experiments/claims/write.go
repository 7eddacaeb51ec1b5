package claims

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"latlab.example/common/calibration"
	"latlab.example/common/lab"
	"latlab.example/experiments/audit"
)

// WriteText writes the ledger for people: a block a claim. It returns the error of
// w.
func WriteText(w io.Writer, entries []Entry) error {
	var b strings.Builder
	for _, e := range entries {
		c := e.Claim
		fmt.Fprintf(&b, "%s: %s\n", c.ID, c.Text)
		field := func(name, text string) {
			if text != "" {
				fmt.Fprintf(&b, "  %-10s %s\n", name, text)
			}
		}
		field("published", c.Published)
		field("audit", auditOf(c, e.Audit))
		for _, s := range []struct {
			name string
			Side
		}{{lab.Modelled.String(), e.Modelled}, {lab.Measured.String(), e.Measured}} {
			lines := s.lines()
			if c.Experiment == "" {
				lines = nil
			}
			for i, line := range lines {
				name := s.name
				if i > 0 {
					name = ""
				}
				fmt.Fprintf(&b, "  %-10s %s\n", name, line)
			}
		}
		if c.Experiment == "" {
			field("verdict", e.Verdict()+": "+c.Why)
		} else {
			field("rule", c.asks())
			field("verdict", e.Verdict())
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WritePredictions writes, for each calibration of the case, or of all if it is "",
// what its model predicts beside what was measured. It returns the error of w.
func WritePredictions(w io.Writer, all []Predictions, name string) error {
	for _, p := range all {
		if name != "" && p.Case != name {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: what the model that was fitted to host %s predicts (modelled) beside what was measured there (%s)\n", p.Case, p.Host.Place(), p.Path); err != nil {
			return err
		}
		if err := calibration.WriteResiduals(w, p.Residuals); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

// WritePredictionsMarkdown writes the same as tables.
func WritePredictionsMarkdown(w io.Writer, all []Predictions, name string) error {
	var b strings.Builder
	for _, p := range all {
		if name != "" && p.Case != name {
			continue
		}
		fmt.Fprintf(&b, "\n%s, fitted to host %s:\n\n| prediction | predicted (modelled) | measured | quartiles | residual |\n|---|---|---|---|---|\n", p.Case, p.Host.Place())
		for _, r := range p.Residuals {
			fmt.Fprintf(&b, "| %s | %s | %s | %s to %s | %+.0f %% |\n", r.What, calibration.Millis(r.Predicted), calibration.Millis(r.Measured), calibration.Millis(r.Low), calibration.Millis(r.High), 100*r.Off())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// asks says by what a claim is answered.
func (c Claim) asks() string {
	text := fmt.Sprintf("%s: %s of %s", c.Experiment, c.Rule, c.Unit)
	var arms []string
	for _, s := range c.Arms {
		if s := s.String(); s != "" {
			arms = append(arms, s)
		}
	}
	if len(arms) > 0 {
		text += ", " + strings.Join(arms, " | ")
	}
	if len(c.Against) > 0 {
		text += " against " + c.Against.String()
	}
	return text
}

// shown is how many findings a claim prints.
const shown = 3

// auditOf is grade and sentence of the first findings.
func auditOf(c Claim, findings []audit.Finding) string {
	var parts []string
	for i, f := range findings {
		if i == shown {
			parts = append(parts, fmt.Sprintf("and %d more on its rows: latlab audit --case %s", len(findings)-shown, c.Case))
			break
		}
		parts = append(parts, fmt.Sprintf("%s: %s", f.Grade, f.Text))
	}
	return strings.Join(parts, "\n             ")
}

// lines are a side's answers, then what is missing.
func (s Side) lines() []string {
	var lines []string
	for _, a := range s.Answers {
		line := fmt.Sprintf("%s on %s: %s", a.Verdict, a.Rig, a.Effect)
		if a.Reason != "" {
			line += " (" + a.Reason + ")"
		}
		lines = append(lines, line)
	}
	lines = append(lines, s.Missing...)
	if len(lines) == 0 {
		lines = append(lines, s.Reason)
	}
	return lines
}

// WriteMarkdown writes the ledger as a table: published, audit, modelled, measured,
// verdict. It returns the error of w.
func WriteMarkdown(w io.Writer, entries []Entry) error {
	var b strings.Builder
	b.WriteString("| claim | published | its own audit | modelled | measured | verdict |\n|---|---|---|---|---|---|\n")
	for _, e := range entries {
		c := e.Claim
		var audits []string
		for _, f := range e.Audit {
			audits = append(audits, fmt.Sprintf("%s: %s", f.Grade, f.Law))
		}
		modelled, measured := "-", "-"
		verdict := e.Verdict()
		if c.Experiment == "" {
			verdict += ": " + c.Why
		} else {
			modelled, measured = strings.Join(e.Modelled.lines(), "; "), strings.Join(e.Measured.lines(), "; ")
		}
		cells := []string{c.Text, c.Published, strings.Join(unique(audits), "; "), modelled, measured, verdict}
		for i, cell := range cells {
			if cell == "" {
				cell = "-"
			}
			cells[i] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(cell)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func unique(words []string) []string {
	seen := make(map[string]bool)
	var out []string
	for _, w := range words {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

type jsonEntry struct {
	ID         string          `json:"id"`
	Case       string          `json:"case"`
	Claim      string          `json:"claim"`
	Published  string          `json:"published"`
	Rows       []string        `json:"rows"`
	Audit      []audit.Finding `json:"audit"`
	Experiment string          `json:"experiment,omitempty"`
	Unit       string          `json:"unit,omitempty"`
	Arms       []string        `json:"arms,omitempty"`
	Against    string          `json:"against,omitempty"`
	Rule       string          `json:"rule,omitempty"`
	Why        string          `json:"why,omitempty"` // no experiment answers it
	Modelled   jsonSide        `json:"modelled"`
	Measured   jsonSide        `json:"measured"`
	Verdict    string          `json:"verdict"`
}

type jsonSide struct {
	Verdict lab.Verdict  `json:"verdict,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Answers []jsonAnswer `json:"answers"`
	Missing []string     `json:"missing"`
}

type jsonAnswer struct {
	Rig     string      `json:"rig"`
	Host    string      `json:"host"`
	Verdict lab.Verdict `json:"verdict"`
	Reason  string      `json:"reason,omitempty"`
	Effect  string      `json:"effect"`
	File    string      `json:"file"`
}

// WriteJSON writes the ledger for programs. It returns the error of w.
func WriteJSON(w io.Writer, entries []Entry) error {
	out := []jsonEntry{}
	for _, e := range entries {
		c := e.Claim
		j := jsonEntry{
			ID: c.ID, Case: c.Case, Claim: c.Text, Published: c.Published, Rows: append([]string{}, c.Rows...), Audit: append([]audit.Finding{}, e.Audit...),
			Experiment: c.Experiment, Unit: c.Unit, Against: c.Against.String(), Rule: c.Rule.String(), Why: c.Why,
			Modelled: newJSONSide(e.Modelled), Measured: newJSONSide(e.Measured), Verdict: e.Verdict(),
		}
		for _, s := range c.Arms {
			j.Arms = append(j.Arms, s.String())
		}
		out = append(out, j)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

func newJSONSide(s Side) jsonSide {
	j := jsonSide{Verdict: s.Verdict, Reason: s.Reason, Answers: []jsonAnswer{}, Missing: append([]string{}, s.Missing...)}
	for _, a := range s.Answers {
		j.Answers = append(j.Answers, jsonAnswer{a.Rig, a.Host, a.Verdict, a.Reason, a.Effect, a.File})
	}
	return j
}
