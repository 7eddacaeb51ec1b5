package aerospike

import "latlab.example/common/metrics"

// The stages of a request. They don't overlap on one line of execution.
const (
	KeyParse           metrics.Stage = iota // user keys to client keys
	LimiterWait                             // the semaphore of Options.Limit
	ScheduleDelay                           // a goroutine is started until it runs
	IO                                      // the client's call: split by node, encode, send, receive; with Official decoding too
	IntoObject                              // replies to handles
	SpawnBlockingDelay                      // waiting for a worker of an Executor
	ResumeDelay                             // the last read is done until the caller runs
	ToMap                                   // handles to maps
	ToColumns                               // handles to typed columns, the fill included
	Merge                                   // sets put together, or one read split by set and position
	Setup                                   // what starting a goroutine or handing to a worker needs, before it
)

// Stages are the study's names, in its order.
var Stages = metrics.NewStageSet("aerospike", StageNames()...)

// StageNames are the names of Stages, for sets that begin with them: a service
// around a pipeline may have stages of its own after them.
func StageNames() []string {
	return []string{
		"key_parse", "limiter_wait", "schedule_delay", "io", "into_object", "spawn_blocking_delay",
		"resume_delay", "to_map", "to_columns", "merge", "setup",
	}
}

// begins says whether the set's first stages are those of Stages.
func begins(set *metrics.StageSet) bool {
	for i, name := range StageNames() {
		if i >= set.Len() || set.Stage(metrics.Stage(i)) != name {
			return false
		}
	}
	return true
}

// Span is where a part of a request is timed: its timeline and line of
// execution. The zero Span times nothing.
type Span struct {
	req   *metrics.Request
	track metrics.Track
}

// NewSpan is the first line of execution of a request, which may be nil.
func NewSpan(req *metrics.Request) Span { return Span{req: req} }

// Start returns the present moment, or zero when nothing is timed.
func (s Span) Start() metrics.Mark { return s.req.Start() }

// End records the time since m as a run of stage g.
func (s Span) End(g metrics.Stage, m metrics.Mark) { s.req.End(s.track, g, m) }
