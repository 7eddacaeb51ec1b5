package wire

import "encoding/binary"

// Operations of an [Op].
const (
	OpRead  = 1
	OpWrite = 2
)

// Op is one operation on a bin, or one bin of a reply.
type Op struct {
	Do    uint8
	Type  Particle
	Name  []byte
	Value []byte // the particle's bytes
}

// AppendOp appends the operation. Its name must have at most 255 bytes; servers
// take fewer.
func AppendOp(dst []byte, o Op) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+len(o.Name)+len(o.Value)))
	dst = append(dst, o.Do, byte(o.Type), 0, byte(len(o.Name)))
	return append(append(dst, o.Name...), o.Value...)
}

// Ops are encoded operations. Parsing a message checks that they are whole, so
// walking them can't fail.
type Ops struct {
	Count int
	Data  []byte
}

// Append appends an operation.
func (s Ops) Append(o Op) Ops { return Ops{s.Count + 1, AppendOp(s.Data, o)} }

const opHeaderSize = 8

// opSize is the length of the operation at the start of b; zero if it isn't whole.
func opSize(b []byte) int {
	if len(b) < opHeaderSize {
		return 0
	}
	n := uint64(binary.BigEndian.Uint32(b))
	if n > uint64(len(b)-4) || n < 4+uint64(b[7]) {
		return 0
	}
	return int(n) + 4
}

// ops takes count operations and leaves them encoded.
func (c *cursor) ops(count int) Ops {
	if c.err == nil && count > c.left()/opHeaderSize {
		c.fail(c.off, "%d operations can't be in %d bytes", count, c.left())
	}
	if c.err != nil {
		return Ops{}
	}
	from := c.off
	for i := range count {
		n := opSize(c.b[c.off:])
		if n == 0 {
			c.fail(c.off, "operation %d of %d isn't whole: its length doesn't fit its name or the %d bytes left", i+1, count, c.left())
			return Ops{}
		}
		c.off += n
	}
	return Ops{count, c.b[from:c.off:c.off]}
}

// Next takes the first operation off s. It reports false when there is none.
func (s *Ops) Next() (Op, bool) {
	b := s.Data
	n := opSize(b)
	if s.Count <= 0 || n == 0 { // the end, or s was put together by hand, and badly
		*s = Ops{}
		return Op{}, false
	}
	s.Count--
	s.Data = b[n:]
	value := opHeaderSize + int(b[7])
	return Op{Do: b[4], Type: Particle(b[5]), Name: b[opHeaderSize:value], Value: b[value:n]}, true
}

// Find returns the last operation on the bin called name.
func (s Ops) Find(name string) (found Op, ok bool) {
	for o, more := s.Next(); more; o, more = s.Next() {
		if string(o.Name) == name {
			found, ok = o, true
		}
	}
	return found, ok
}
