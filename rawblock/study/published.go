package study

import (
	"context"
	"time"

	"latlab.example/common/lab"
	"latlab.example/rawblock/model"
)

var (
	candidate = lab.NewFactor("device", candidateNames()...)
	residual  = lab.Unit{Name: "residual", Better: lab.Down, Exact: true}
)

func candidateNames() []string {
	var names []string
	for _, c := range model.Candidates() {
		names = append(names, c.Name)
	}
	return names
}

// PublishedFit asks which device lies behind the study's table. Its time is that
// of the five batch+io_uring rows together; model.Fit.Table has each row.
var PublishedFit = lab.Experiment{
	Name:     "rawblock/published-fit",
	Question: "Which device do the study's batch+io_uring rows fit, if not the one wait a batch that it assumed?",
	Note:     "sec/op is the predicted time of the five published rows together; model.Fit.Table, in the chapter, has each row",
	Factors:  []lab.Factor{candidate},
	Outcomes: []lab.Unit{residual},
	Rule:     lab.Better(residual, 0.5).NoEffectUnder(0.5),
	Rigs: []lab.Rig{lab.Virtual("arithmetic", []string{
		"CPU a key and overshoot a wait are the same in all rows, and as fitted on the batch/posix rows",
		model.WhyNotFanOut,
	}, openFit)},
}

type fitSubject struct{ device model.Candidate }

func openFit(_ context.Context, a lab.Arm) (lab.Subject, error) {
	for _, c := range model.Candidates() {
		if c.Name == candidate.Of(a) {
			return fitSubject{c}, nil
		}
	}
	panic("study: the factor's levels are the candidates' names")
}

func (s fitSubject) Trial(_ context.Context, t *lab.Trial) error {
	f := model.FitPosix()
	var sum time.Duration
	for _, r := range model.PublishedRows {
		sum += f.Batch(s.device, r)
	}
	t.Ops, t.Took = 1, sum
	t.Observe(residual, f.BatchResidual(s.device))
	return nil
}

func (fitSubject) Close() error { return nil }
