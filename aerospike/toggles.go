package aerospike

import "latlab.example/common/metrics"

// Mode is how the sets of a request are read.
type Mode string

// The modes.
const (
	Gather      Mode = "gather"       // a goroutine and a read a set, each of which converts its rows
	Single      Mode = "single"       // one read of all keys, split by set and position afterwards
	Sequential  Mode = "sequential"   // a read a set, one after the other
	MergeGather Mode = "merge-gather" // a goroutine and a read a set; the caller converts all rows afterwards
)

// Form is what a request's rows become.
type Form string

// The forms.
const (
	Maps    Form = "map"     // a map a record, from bin name to value
	Handles Form = "lazy"    // handles that convert when asked
	Typed   Form = "columns" // a typed column a bin, with a validity mask
)

// ReaderName names a reader.
type ReaderName string

// The readers.
const (
	UseOfficial ReaderName = "official" // the client's BatchGet
	UseOperate  ReaderName = "operate"  // the client's BatchOperate
	UseLazy     ReaderName = "lazy"     // this package's own encoder and decoder
)

// The choices that the code reads; first the study's baseline.
var (
	ModeToggle   = metrics.NewToggle("mode", Gather, Single, Sequential, MergeGather)
	FormToggle   = metrics.NewToggle("form", Maps, Handles, Typed)
	ReaderToggle = metrics.NewToggle("reader", UseOfficial, UseLazy, UseOperate)
	// ExecutorToggle is the number of workers that reads are handed to; zero is
	// none: the reading goroutine calls the client itself.
	ExecutorToggle = metrics.NewToggle("executor", 0, 4, 16)
	OrderToggle    = metrics.NewToggle("order", Grouped, Mixed)
	// LimitToggle is the number of reads under way at once; zero is no limit.
	LimitToggle = metrics.NewToggle("limit", 0, 4)
)
