package lab

// Direction is which way a figure moves, or which way is better.
type Direction int8

// The two directions. The zero Direction is unset, and labtest refuses it: a
// reader must be told which way is better.
const (
	Down Direction = iota - 1
	_
	Up
)

func (d Direction) String() string {
	switch d {
	case Down:
		return "down"
	case Up:
		return "up"
	}
	return "unset"
}

// Unit is one outcome: its name in the Go benchmark format (sec/op, writes/op)
// and which way is better.
type Unit struct {
	Name   string
	Better Direction
	// Exact says that the same seed gives the same figure on every machine, so
	// that one sample is enough and any difference is real.
	Exact bool
}

// Units that several cases share.
var (
	// SecPerOp is the time of one operation. Every trial has it: Took / Ops.
	SecPerOp = Unit{Name: "sec/op", Better: Down}
	// Writes and Reads count what the case asked of its device in one operation.
	Writes = Unit{Name: "writes/op", Better: Down, Exact: true}
	Reads  = Unit{Name: "reads/op", Better: Down, Exact: true}
	// DeviceWrites counts the writes that reached the device: neighbours may have
	// been merged on the way, large ones split.
	DeviceWrites = Unit{Name: "dev-writes/op", Better: Down}
)
