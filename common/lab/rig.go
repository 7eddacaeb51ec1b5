package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"latlab.example/common/child"
	"latlab.example/common/sim/param"
)

// Kind is what a rig puts under the case's code.
type Kind uint8

// The four kinds of rig. Only a KindReal rig can give measured results.
const (
	KindVirtual  Kind = iota // a discrete-event model in virtual time
	KindBubble               // real code against a fake over in-memory connections, in virtual time
	KindEmulated             // real code against a fake in wall-clock time
	KindReal                 // a real device or server
)

var kindNames = [...]string{"virtual", "bubble", "emulated", "real"}

func (k Kind) String() string { return kindNames[k] }

// ParseKind reads a kind's name.
func ParseKind(s string) (Kind, error) {
	if i := slices.Index(kindNames[:], s); i >= 0 {
		return Kind(i), nil
	}
	return 0, fmt.Errorf("no rig kind %q; choose one of: virtual, bubble, emulated, real", s)
}

// wall says whether the kind's time is this host's.
func (k Kind) wall() bool { return k >= KindEmulated }

// Errors that Experiment.Open wraps. In both cases a runner shows the row as
// refused, with the reason, and goes on.
var (
	// ErrRefused occurs when a fake isn't the device that it claims to be: its
	// calibration is off by more than its tolerance.
	ErrRefused = errors.New("not the device that it claims to be")
	// ErrUnavailable occurs when a real rig lacks what it needs here.
	ErrUnavailable = errors.New("not available here")
)

// Unavailable is what a Probe returns when the rig can't run here. Need is the
// name under which LATLAB_REQUIRE_REAL can demand it.
type Unavailable struct {
	Need string // "iouring", "postgis", "s3", ...
	Why  string // what is missing
	Do   string // what to do about it
}

func (u *Unavailable) Error() string { return u.Why + "; " + u.Do }

// Unwrap makes errors.Is(err, ErrUnavailable) true.
func (u *Unavailable) Unwrap() error { return ErrUnavailable }

type (
	// Open opens an arm on a rig. The subject owns what it opened.
	Open func(context.Context, Arm) (Subject, error)
	// Probe says whether the rig can run on this host, without changing anything.
	Probe func(context.Context) error
	// OpenModel opens an arm of a model with these parameters.
	OpenModel func(context.Context, Arm, param.Table) (Subject, error)
	// Calibrate asks the arm's fake for its latency and compares. The text
	// travels with every result; an error refuses the row.
	Calibrate func(context.Context, Arm) (string, error)
)

// Rig is what an arm runs on. It is made by Virtual, Bubble, Emulated or Real,
// each of which demands what its kind must bring.
type Rig struct {
	name      string
	kind      Kind
	assume    []string
	own       []Factor
	calibrate Calibrate
	probe     Probe
	open      Open
	params    param.Table // of a Model
	model     OpenModel
	limits    func(Arm) child.Limits // not nil: each trial runs in a process of its own
}

// Virtual is a discrete-event model in virtual time. assume states, a sentence
// each, what the model takes for granted.
func Virtual(name string, assume []string, open Open) Rig {
	return Rig{name: name, kind: KindVirtual, assume: assume, open: open}
}

// Model is Virtual with parameters as data, so that each can be varied alone.
// They are assumptions too, beside those of assume.
func Model(name string, assume []string, params param.Table, open OpenModel) Rig {
	return Rig{name: name, kind: KindVirtual, assume: assume}.bind(params, open)
}

// bind opens arms with these parameters.
func (r Rig) bind(params param.Table, open OpenModel) Rig {
	r.params, r.model = params, open
	r.open = func(ctx context.Context, a Arm) (Subject, error) { return open(ctx, a, params) }
	return r
}

// Bubble is real code and the real client library against a fake over in-memory
// connections, in virtual time.
func Bubble(name string, assume []string, open Open) Rig {
	return Rig{name: name, kind: KindBubble, assume: assume, open: open}
}

// Emulated is real code against a fake in wall-clock time. calibrate runs
// before each arm is opened.
func Emulated(name string, assume []string, calibrate Calibrate, open Open) Rig {
	return Rig{name: name, kind: KindEmulated, assume: assume, calibrate: calibrate, open: open}
}

// Real is a real device or server. probe runs before each arm is opened.
func Real(name string, probe Probe, open Open) Rig {
	return Rig{name: name, kind: KindReal, probe: probe, open: open}
}

// With is the rig with device factors of its own: a fake's latency, say.
func (r Rig) With(own ...Factor) Rig {
	r.own = append(slices.Clip(r.own), own...)
	return r
}

// Requires is a rig that isn't real, but needs something of the host all the
// same: a kernel feature, say.
func (r Rig) Requires(probe Probe) Rig {
	r.probe = probe
	return r
}

// Params are the parameters of a rig that was made by Model; false for others.
func (r Rig) Params() (param.Table, bool) { return r.params, r.model != nil }

// Vary is a rig made by Model with other values of its parameters. It is another
// model, so it takes another name: a file of its results must not pass for one of
// the original. It panics on a rig that no Model made.
func (r Rig) Vary(name string, params param.Table) Rig {
	if r.model == nil {
		panic(fmt.Sprintf("lab: rig %s has no parameters to vary", r.name))
	}
	r.name = name
	return r.bind(params, r.model)
}

// Name is the rig's name within its experiment.
func (r Rig) Name() string { return r.name }

// Kind is what the rig puts under the code.
func (r Rig) Kind() Kind { return r.kind }

// Assumptions are the sentences that a modelled result must travel with.
func (r Rig) Assumptions() []string { return slices.Concat(r.assume, r.params.Assumptions()) }

// Probe says why the rig can't run here, or nil.
func (r Rig) Probe(ctx context.Context) error {
	if r.probe == nil {
		return nil
	}
	return r.probe(ctx)
}
