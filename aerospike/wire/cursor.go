package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by every [FormatError].
var ErrMalformed = errors.New("malformed")

// A FormatError says what couldn't be read, and where.
type FormatError struct {
	Offset int    // bytes before the trouble, from the start of what was parsed
	Reason string // what was expected there
}

// Error names the offset and the reason.
func (e *FormatError) Error() string {
	return fmt.Sprintf("wire: malformed at offset %d: %s", e.Offset, e.Reason)
}

// Unwrap makes errors.Is(err, ErrMalformed) true.
func (e *FormatError) Unwrap() error { return ErrMalformed }

// cursor reads from the start of b. After the first failure it reads zeros, so
// that callers may look at err once.
type cursor struct {
	b    []byte
	off  int
	base int // offset of b[0] in what the caller parses
	err  error
}

func (c *cursor) fail(at int, format string, args ...any) {
	if c.err == nil {
		c.err = &FormatError{Offset: c.base + at, Reason: fmt.Sprintf(format, args...)}
	}
}

func (c *cursor) left() int { return len(c.b) - c.off }

// bytes takes n bytes without copying them; nil after a failure.
func (c *cursor) bytes(n int, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > c.left() {
		c.fail(c.off, "%s needs %d bytes, %d are left", what, n, c.left())
		return nil
	}
	p := c.b[c.off : c.off+n : c.off+n]
	c.off += n
	return p
}

func (c *cursor) u8(what string) uint8 {
	if p := c.bytes(1, what); p != nil {
		return p[0]
	}
	return 0
}

func (c *cursor) u16(what string) uint16 {
	if p := c.bytes(2, what); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

func (c *cursor) u32(what string) uint32 {
	if p := c.bytes(4, what); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func (c *cursor) u64(what string) uint64 {
	if p := c.bytes(8, what); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}
