// Package metrics answers "where did the time go?" with instruments that may stay
// in production code: stages, histograms, timelines, and the toggles that decide
// which code runs.
//
// # How a request flows
//
//  1. A case names its stages once, in a [StageSet], with a constant for each.
//  2. Each store or service has a [Recorder] of that set. Off, which is how it
//     begins, it costs a load and a branch.
//  3. The recorder is switched on: by the environment (LATLAB_STAGES=on), at run
//     time ([Recorder.SetOn]) or for a while ([Recorder.Scope]). An open scope beats
//     what was set at run time, which beats the environment.
//  4. Code puts a stage between [Recorder.Start] and [Recorder.End]. End adds the
//     time between them to the stage's [Histogram].
//  5. An operation whose stages should be seen in their order starts with
//     [Recorder.Request] and runs its stages on the [Request]; work in parallel
//     takes a [Track] for each goroutine. Models, which have a clock of their own,
//     use [Request.Add] and [Request.FinishAt].
//  6. [Request.Finish] makes a [Timeline] and hands it to the sink of
//     [WithTimelines]. [Timeline.Check] finds what is unsound in it.
//  7. [Timeline.Critical] charges each nanosecond to one stage, or to none: what no
//     stage covers is "unattributed", and is shown as such and never spread over the
//     others. The [Breakdown] of many operations is the sum of theirs.
//  8. [Recorder.Snapshot] has a [Dist] a stage, which merges with those of other
//     processes and runs. All tables are written as text or as JSON, and package
//     prom shows them to Prometheus.
//
// # Timing a service of one's own
//
//	const (
//		lookup metrics.Stage = iota
//		render
//	)
//	var rec = metrics.NewRecorder(metrics.NewStageSet("shop", "lookup", "render"))
//
//	m := rec.Start()
//	item := find(id)
//	rec.End(lookup, m)
//	...
//	rec.Snapshot().WriteText(os.Stdout)
//
// Run it with LATLAB_STAGES=on. The package example is the whole program.
//
// # Concurrency
//
//   - A [Recorder], a [Histogram], a [StageSet] and a [Toggle] may be used by any
//     number of goroutines.
//   - A [Request] may be used by several goroutines, each with a track of its own;
//     who calls Finish waits for the others first.
//   - A [Mark] is a plain value. It may end on another goroutine than it started on.
//   - A [Dist], a [Snapshot], a [Timeline] and a [Breakdown] are plain values.
//     Several goroutines may read one; writing needs a lock of the caller's.
//   - A switch governs its recorder, hence all goroutines that use it. A stage that
//     started while recording was on is recorded, whatever happens to the switch.
//
// The clock is the monotonic one, read once for a start and once for an end; inside
// a testing/synctest bubble it is virtual.
//
// # Cost
//
// An example, from a virtual machine with two shared cores of an AMD EPYC, Go 1.26.
// The ratios should hold elsewhere; the figures won't. BenchmarkCost prints them for
// any host, and the module in peers compares the record with other libraries.
//
//	                                        ns    allocations
//	off: On, above an empty loop            0.0   0
//	off: Start and End, above the loop      0.1   0
//	off: Start and deferred End             2.3   0
//	off: request with one stage             2.5   0
//	two clock reads, for comparison        47     0
//	on: Start and End                      55     0
//	on: request with one stage            210     1
//	record alone                            6.5   0
//	record, two goroutines in parallel      6.6   0
//
//	a record, ns on its core               alone   two in parallel
//	this package                             6.7     6.8
//	HdrHistogram with a mutex               12      35
//	VictoriaMetrics                         14      33
//	Prometheus classic                      23      86
//	Prometheus native                       32     105
//	OpenTelemetry, attributes ready        106     195
//
// A histogram takes 41 KB for each P that records into it, from its first record.
package metrics
