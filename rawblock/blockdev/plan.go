package blockdev

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of the guards. They come wrapped with the device, why and what to do.
var (
	// ErrNoDevice occurs when no device was named: there is no default.
	ErrNoDevice = errors.New("no device named")
	// ErrNotBlock occurs for what is not a block device, as a character device.
	ErrNotBlock = errors.New("not a block device")
	// ErrPartition occurs for a partition.
	ErrPartition = errors.New("a partition, not a whole disk")
	// ErrStacked occurs for a device that lies on other devices.
	ErrStacked = errors.New("lies on another device")
	// ErrReadOnly occurs for a device that the kernel has read-only.
	ErrReadOnly = errors.New("read-only")
	// ErrRoot occurs for the disk that carries the root file system.
	ErrRoot = errors.New("carries the root file system")
	// ErrMounted occurs for a mounted device.
	ErrMounted = errors.New("mounted")
	// ErrSwap occurs for a device that is swapped to.
	ErrSwap = errors.New("in use as swap")
	// ErrHeld occurs for a device that another device lies on.
	ErrHeld = errors.New("held by another device")
	// ErrPartitionInUse occurs when a partition of the device is in use. What for
	// is wrapped too: ErrMounted, ErrSwap or ErrHeld.
	ErrPartitionInUse = errors.New("a partition of it is in use")
	// ErrBusy occurs when the device can't be had exclusively.
	ErrBusy = errors.New("held exclusively by someone else")
	// ErrSignature occurs when the device has a signature of the package's table.
	ErrSignature = errors.New("has a signature")
	// ErrNotEmpty occurs when the first or last MiB is not all zero, unless the
	// device begins with a store of ours.
	ErrNotEmpty = errors.New("not empty")
	// ErrConsent occurs when the phrase is missing or another.
	ErrConsent = errors.New("no consent")
	// ErrChanged occurs when the device is not the one that was inspected.
	ErrChanged = errors.New("another device than a moment ago")
	// ErrUnknown occurs when something that a guard must know can't be read.
	ErrUnknown = errors.New("can't be judged")
)

// Number is a block device's major:minor.
type Number struct{ Major, Minor uint32 }

func (n Number) String() string { return fmt.Sprintf("%d:%d", n.Major, n.Minor) }

// Consent is a person's agreement to lose what the device holds.
type Consent struct {
	// Serial is the device's Plan.Phrase, exactly.
	Serial string
}

// Plan is what Inspect found out about a device. Sizes and offsets are in bytes.
type Plan struct {
	Asked  string // as the caller named it
	Path   string // after links were resolved
	Number Number
	Model  string // as the kernel shows it, "" if it has none
	Serial string // likewise, without blanks round it
	Size   int64
	Block  int   // the logical block: the unit of direct I/O
	Bytes  int64 // the range that would be written: from 0 up to here
	Ours   bool  // it begins with a store of ours

	// Phrase is what Consent must hold: the serial. A device without one, as a
	// loop device, or one whose serial another disk here has too, has the resolved
	// path and the size instead: "/dev/loop3:67108864".
	Phrase string

	// Refusals are the guards that refuse it, with reasons. Consent is not among
	// them, as Inspect has not been given any.
	Refusals []error

	seq uint64 // counts up when a device is put in the place of another; 0 if unknown
}

// same tells whether two plans mean one device.
func (p Plan) same(q Plan) bool {
	return p.Path == q.Path && p.Number == q.Number && p.Model == q.Model && p.Serial == q.Serial &&
		p.Size == q.Size && p.Block == q.Block && p.seq == q.seq
}

func (p Plan) identity() string {
	return fmt.Sprintf("%s (%s, serial %q, %d bytes, sequence %d)", p.Path, p.Number, p.Serial, p.Size, p.seq)
}

// String is the plan for a person, a fact a line.
func (p Plan) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s "+format+"\n", append([]any{name}, args...)...)
	}
	or := func(text string) string {
		if text == "" {
			return "(none)"
		}
		return text
	}
	line("device", "%s", p.Path)
	if p.Asked != p.Path {
		line("asked", "%s", p.Asked)
	}
	line("number", "%s", p.Number)
	line("model", "%s", or(p.Model))
	line("serial", "%s", or(p.Serial))
	line("size", "%d bytes (%.1f MiB)", p.Size, float64(p.Size)/(1<<20))
	line("block", "%d bytes", p.Block)
	line("range", "bytes 0 to %d: %.1f %% of the device", p.Bytes-1, 100*float64(p.Bytes)/float64(max(p.Size, 1)))
	line("writes", "any byte of the range, from a store's superblock at 0 on; none outside it")
	switch {
	case p.Ours:
		line("content", "a store of ours, which will be overwritten")
	case len(p.Refusals) == 0:
		line("content", "first and last MiB are zero, no known signature")
	}
	for _, err := range p.Refusals {
		line("refused", "%v", err)
	}
	if len(p.Refusals) == 0 {
		line("consent", "%s", p.Phrase)
	}
	return b.String()
}

// refused joins reasons in one line.
type refused []error

func (r refused) Unwrap() []error { return r }

func (r refused) Error() string {
	words := make([]string, len(r))
	for i, err := range r {
		words[i] = err.Error()
	}
	return strings.Join(words, "; also: ")
}

// Allows is nil if no guard refuses the device and the consent is for it.
func (p Plan) Allows(c Consent) error {
	if err := p.verdict(); err != nil {
		return err
	}
	if p.Phrase == "" || c.Serial != p.Phrase {
		return fmt.Errorf("blockdev: %s: %w: %q is not its phrase; look at its plan (make nvme-plan DEV=%s), and pass the phrase that stands there if all of the device may be lost",
			p.Path, ErrConsent, c.Serial, p.Path)
	}
	return nil
}

// verdict is the error that the refusals amount to.
func (p Plan) verdict() error {
	if len(p.Refusals) == 0 {
		return nil
	}
	return fmt.Errorf("blockdev: %s (%s) is refused: %w", p.Path, p.Number, refused(p.Refusals))
}
