// Package lab is the contract between a case and the runner.
//
// A case offers Experiments. An experiment is a question, the factors that can
// be chosen, the outcomes that are looked at and the rule that decides, all of
// it fixed before the run. It lists the rigs on which the question can be
// asked. The way from there to a number has five steps:
//
//  1. A Selection of levels becomes Arms: one level of every factor.
//  2. Experiment.Open probes and calibrates the rig and opens a Subject there.
//     It returns a Session, which holds the provenance.
//  3. Session.Run runs one Trial of the subject and stamps its figures. The
//     result is a Result. Nothing else makes one.
//  4. WriteResults writes results in the Go benchmark format, so that stock
//     benchstat reads them.
//  5. Rule.Judge turns the interval of an effect into a Verdict.
//
// # Provenance
//
// A figure is Measured only if its rig was made by Real and no chosen level
// simulates something. Everything else is Modelled. Provenance follows from
// constructors and levels. A subject doesn't know it and can't set it, and no
// flag or label changes it.
//
// # Concurrency
//
// Experiments, rigs, factors and arms are plain values that nobody changes
// after they were made; they may be shared. A Session runs one trial at a time.
package lab
