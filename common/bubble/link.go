package bubble

import (
	"math/bits"
	"time"
)

// Link is what bytes pass between the two ends of a connection. Each
// connection has it for itself, in each direction alike, so that connections
// don't slow each other down and their order makes no difference. The zero
// Link takes no time. Negative values count as zero.
type Link struct {
	// RTT is the round trip; each direction takes half. Dialling takes one.
	RTT time.Duration
	// BytesPerSec is the bandwidth; 0 is without limit. A write is sent in
	// pieces of at most 64 KiB. A piece can be read when its last byte has
	// come.
	BytesPerSec int64
	// Buffer is how many bytes can be written and not yet read, on the way
	// included, before Write waits. 0 is 4 MiB, the largest to which a TCP
	// connection of Linux grows by default. At most so much is delivered in
	// half a round trip, as the writer knows at once what was read.
	Buffer int
}

const (
	defaultBuffer = 4 << 20
	maxPiece      = 64 << 10
)

func (l Link) oneWay() time.Duration { return max(l.RTT, 0) / 2 }

func (l Link) buffer() int {
	if l.Buffer <= 0 {
		return defaultBuffer
	}
	return l.Buffer
}

// sending is how long the wire is busy with n bytes, rounded up.
func (l Link) sending(n int) time.Duration {
	if l.BytesPerSec <= 0 {
		return 0
	}
	// n is at most maxPiece, so the quotient has room.
	hi, lo := bits.Mul64(uint64(n), uint64(time.Second))
	quo, rest := bits.Div64(hi, lo, uint64(l.BytesPerSec))
	if rest > 0 {
		quo++
	}
	return time.Duration(quo)
}
