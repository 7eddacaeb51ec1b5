package page

import (
	"strings"

	"latlab.example/common/fidelity"
	"latlab.example/common/lab"
)

// Claim is what a study says, with what became of it here.
type Claim struct {
	Case, Text, Published string
	Audit                 []Finding
	Modelled, Measured    Side
	Verdict               string // of both sides, in words
	Why                   string // why no experiment answers it; empty if one does
}

// Finding is what the audit of published figures says of a claim.
type Finding struct{ Grade, Text string }

// Side is what one provenance says to a claim.
type Side struct {
	Verdict lab.Verdict // empty if there is none
	Answers []Answer
	Note    string // why there is none, and what to do about it
}

// Answer is one rig's.
type Answer struct {
	Rig, Effect, Reason string
	Verdict             lab.Verdict
}

// Fidelity holds the facts of where figures were measured beside those of
// production.
type Fidelity struct {
	Title string // of what: a case, a host
	Table fidelity.Table
}

// claimsOf groups claims by case.
type claimsOf struct {
	Case string
	Rows []claimView
}

type claimView struct {
	Claim
	Verdicts []said
	Sides    []sideView
	Findings []Finding
	More     int // findings that are left out
}

// said is a verdict, or words where there is none.
type said struct {
	Verdict verdict
	Text    string
}

type sideView struct {
	Word    string
	Answers []answerView
	Note    string
}

type answerView struct {
	Answer
	Sign verdict
}

// maxFindings is how many findings a claim shows.
const maxFindings = 2

func ledger(claims []Claim) []claimsOf {
	var all []claimsOf
	for _, c := range claims {
		if n := len(all); n == 0 || all[n-1].Case != c.Case {
			all = append(all, claimsOf{Case: c.Case})
		}
		v := claimView{Claim: c, Findings: c.Audit}
		for part := range strings.SplitSeq(c.Verdict, "; ") {
			switch lab.Verdict(part) {
			case lab.Holds, lab.Fails, lab.Inconclusive:
				v.Verdicts = append(v.Verdicts, said{Verdict: verdict(part)})
			default:
				v.Verdicts = append(v.Verdicts, said{Text: part})
			}
		}
		if len(v.Findings) > maxFindings {
			v.More = len(v.Findings) - maxFindings
			v.Findings = v.Findings[:maxFindings]
		}
		for _, s := range []struct {
			p lab.Provenance
			Side
		}{{lab.Modelled, c.Modelled}, {lab.Measured, c.Measured}} {
			side := sideView{Word: s.p.String(), Note: s.Note}
			for _, a := range s.Answers {
				a.Effect, a.Reason = typeset(a.Effect), typeset(a.Reason)
				side.Answers = append(side.Answers, answerView{a, verdict(a.Verdict)})
			}
			v.Sides = append(v.Sides, side)
		}
		last := &all[len(all)-1]
		last.Rows = append(last.Rows, v)
	}
	return all
}

// fidelityView is a table with its sum in words.
type fidelityView struct {
	Title, Sum string
	Rows       []fidelity.Row
}

func fidelities(all []Fidelity) []fidelityView {
	var views []fidelityView
	for _, f := range all {
		views = append(views, fidelityView{f.Title, f.Table.String(), f.Table})
	}
	return views
}
