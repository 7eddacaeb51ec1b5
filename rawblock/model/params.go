package model

import (
	"time"

	"latlab.example/common/sim/param"
)

// Names of the parameters of a PutMany.
const (
	Cores     = "cores"
	KeyCPU    = "key-cpu"
	Locked    = "locked"
	WriteCPU  = "write-cpu"
	Dispatch  = "dispatch"
	Overshoot = "overshoot"
	Threads   = "threads"
	Bandwidth = "bandwidth"
	FlushTime = "flush"
)

// Study are the parameters of the machine behind the study's table, as far as
// the table says what they are. What no factor of an experiment chooses is here.
func Study() param.Table {
	f := FitPosix()
	const unit = time.Microsecond
	first := PublishedRows[0]
	dispatch := first.FanOut/time.Duration(first.Keys) - f.PerKey
	return param.New(
		param.Param{
			Name: Cores, Value: 1, Unit: param.Count, Lo: 1, Hi: 16,
			Source: param.Assumed("its code is Python, whose lock lets one thread work at a time"), What: "cores that work for keys",
		},
		param.Param{
			Name: KeyCPU, Value: int64(f.PerKey), Unit: param.Time, Lo: int64(unit), Hi: int64(30 * unit),
			Source: param.Calibrated("raw.sim.100.0.posix"), What: "CPU a key, without its writes",
		},
		param.Param{
			Name: Locked, Value: 100_000, Unit: param.Share, Lo: 0, Hi: 1_000_000,
			Source: param.Assumed("a look-up and two changes of a list, out of a checksum and a copy"), What: "share of a key's CPU that is under the store's lock",
		},
		param.Param{
			Name: WriteCPU, Value: 0, Unit: param.Time, Lo: 0, Hi: int64(10 * unit),
			Source: param.Assumed("it is in key-cpu, from which the rows can't tell it"), What: "CPU to submit a write and to reap it",
		},
		param.Param{
			Name: Dispatch, Value: int64(dispatch), Unit: param.Time, Lo: int64(unit), Hi: int64(100 * unit),
			Source: param.Calibrated("raw.sim.100.0.fanout less raw.sim.100.0.posix"), What: "CPU to start a task",
		},
		param.Param{
			Name: Overshoot, Value: int64(f.PerWait), Unit: param.Time, Lo: 0, Hi: int64(100 * unit),
			Source: param.Calibrated("raw.sim.*.posix, by FitPosix"), What: "added to each wait for the device that isn't zero",
		},
		param.Param{
			Name: Threads, Value: 32, Unit: param.Count, Lo: 1, Hi: 1000,
			Source: param.Assumed("Python's executor has at most 32 unless told otherwise; the study doesn't say"), What: "single writes under way at once, at most",
		},
		param.Param{
			Name: Bandwidth, Value: 0, Unit: param.Rate,
			Source: param.Published("raw.sim.*, whose objects have 64 B"), What: "bytes a second that the channels share, 0 being any number",
		},
		param.Param{
			Name: FlushTime, Value: 0, Unit: param.Time, Lo: 0, Hi: int64(5 * time.Millisecond),
			Source: param.Assumed("the study doesn't flush"), What: "a flush",
		},
	)
}

// Assumptions are about the structure of a PutMany here.
var Assumptions = []string{
	"a PutMany runs as rawblock's code does: strategy, layout, order of writes and flushes, one lock",
	"work takes the first free core in the order in which it came, and isn't interrupted",
	"the device is one of the fakes' three, and each request of one takes the same time",
	"no two writes merge, so placement changes nothing",
}
