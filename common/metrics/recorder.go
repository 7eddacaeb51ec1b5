package metrics

import (
	"sync/atomic"
	"time"
)

// Recorder times the stages of one [StageSet]. It is an instance, with its own
// switch and histograms, so that two stores in one process may differ. All
// methods may be used by any number of goroutines.
//
// Three switches say whether it records. An open scope ([Recorder.Scope]) beats
// what was set at run time ([Recorder.SetOn]), which beats the state it began
// with (the environment, see [EnvStages], or [WithSwitch]). They apply to all
// goroutines. What was started while recording was on is recorded at its end,
// even if recording is off by then; so pairs are never torn.
type Recorder struct {
	onOff // first: On loads its first field

	set        *StageSet
	hists      []Histogram // one a stage
	sink       func(Timeline)
	undeclared atomic.Uint64
}

// RecorderOption changes how [NewRecorder] makes a Recorder.
type RecorderOption func(*Recorder)

// WithTimelines has each finished [Request] hand its timeline to sink.
// [Request.Finish] calls it on its own goroutine, so a sink that several
// requests use must be safe for that. The sink owns the timeline.
func WithTimelines(sink func(Timeline)) RecorderOption {
	return func(r *Recorder) { r.sink = sink }
}

// WithSwitch sets the state to begin with, instead of the environment.
func WithSwitch(on bool) RecorderOption {
	return func(r *Recorder) { r.base = on }
}

// NewRecorder returns a recorder for set. It reads [EnvStages] once, here.
func NewRecorder(set *StageSet, opts ...RecorderOption) *Recorder {
	r := &Recorder{set: set, hists: make([]Histogram, set.Len())}
	r.base = envOn()
	for _, o := range opts {
		o(r)
	}
	r.on.Store(r.base)
	return r
}

// Set returns the stages that r times.
func (r *Recorder) Set() *StageSet { return r.set }

// On reports whether r records. It costs an atomic load.
func (r *Recorder) On() bool { return r.on.Load() }

// SetOn switches recording on or off at run time. An open scope still wins.
func (r *Recorder) SetOn(on bool) { r.turn(on) }

// Scope switches recording on or off until the scope is closed:
//
//	defer rec.Scope(true).Close()
//
// Scopes nest, and with defer they survive a panic. When several are open, the
// one that was opened last wins, in whatever order they are closed. A scope
// governs the recorder, hence all goroutines that use it.
func (r *Recorder) Scope(on bool) *Scope { return r.open(on) }

// Start returns the present moment, or zero when recording is off.
func (r *Recorder) Start() Mark {
	if r.on.Load() {
		return now()
	}
	return 0
}

// End records the time since m as one run of stage s. It does nothing when m is
// zero. A stage that the set doesn't have is counted, see [Recorder.Undeclared].
func (r *Recorder) End(s Stage, m Mark) {
	if m != 0 {
		r.end(s, m)
	}
}

// end is apart so that End inlines.
func (r *Recorder) end(s Stage, m Mark) { r.observe(s, int64(now()-m)) }

// Observe records d as one run of stage s, if recording is on. A negative d
// counts as zero.
func (r *Recorder) Observe(s Stage, d time.Duration) {
	if r.on.Load() {
		r.observe(s, int64(d))
	}
}

func (r *Recorder) observe(s Stage, ns int64) {
	if int(s) < len(r.hists) {
		r.hists[s].Record(ns)
		return
	}
	r.undeclared.Add(1)
}

// Undeclared returns how many records named a stage that the set doesn't have.
// Anything but zero is an error in the program.
func (r *Recorder) Undeclared() uint64 { return r.undeclared.Load() }

// Snapshot returns the distributions of all stages, in their order, those
// without records too. Each has the guarantees of [Histogram.Snapshot]; together
// they aren't of one moment while others record.
func (r *Recorder) Snapshot() Snapshot {
	s := Snapshot{Set: r.set.Name(), Stages: make([]StageDist, len(r.hists))}
	for i := range r.hists {
		s.Stages[i] = StageDist{Name: r.set.Stage(Stage(i)), Dist: r.hists[i].Snapshot()}
	}
	return s
}

// Reset forgets all records and the count of undeclared ones. The switches stay
// as they are.
func (r *Recorder) Reset() {
	for i := range r.hists {
		r.hists[i].Reset()
	}
	r.undeclared.Store(0)
}
