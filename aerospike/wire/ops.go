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

// MaxBinName is the longest bin name that an Op can carry, in bytes.
const MaxBinName = 255

// AppendOp appends the operation. Its name must have at most [MaxBinName] bytes.
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

func (c *cursor) op() (o Op) {
	at := c.off
	n := c.u32("operation length")
	if c.err == nil && n < 4 {
		c.fail(at, "operation of %d bytes, at least 4 are needed", n)
	}
	p := c.bytes(int(n), "operation")
	if p == nil {
		return o
	}
	name := int(p[3])
	if 4+name > len(p) {
		c.fail(at, "bin name of %d bytes in an operation of %d", name, n)
		return o
	}
	return Op{Do: p[0], Type: Particle(p[1]), Name: p[4 : 4+name], Value: p[4+name:]}
}

// ops takes count operations and leaves them encoded.
func (c *cursor) ops(count int) Ops {
	if c.err == nil && count > c.left()/opHeaderSize {
		c.fail(c.off, "%d operations can't be in %d bytes", count, c.left())
	}
	from := c.off
	for i := 0; i < count && c.err == nil; i++ {
		c.op()
	}
	if c.err != nil {
		return Ops{}
	}
	return Ops{count, c.b[from:c.off:c.off]}
}

// Next takes the first operation off s. It reports false when there is none.
func (s *Ops) Next() (Op, bool) {
	if s.Count == 0 {
		return Op{}, false
	}
	c := cursor{b: s.Data}
	o := c.op()
	if c.err != nil { // s was put together by hand, and badly
		*s = Ops{}
		return Op{}, false
	}
	*s = Ops{s.Count - 1, s.Data[c.off:]}
	return o, true
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
