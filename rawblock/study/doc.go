// Package study is what rawblock offers to the runner: its experiments, with
// the rigs on which each question can be asked.
package study

import "latlab.example/common/lab"

// Experiments are the case's experiments.
var Experiments = []lab.Experiment{PutMany, BreakEven, GetMany, Allocator, DedupRace, DispatchLeak, PublishedFit}
