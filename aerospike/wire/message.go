package wire

import "encoding/binary"

// HeaderSize is a message header's size in bytes.
const HeaderSize = 22

// Bits of Header.Info1, Info2 and Info3.
const (
	Read       = 0x01 // Info1
	GetAll     = 0x02 // Info1: all bins
	BatchBit   = 0x08 // Info1
	NoBinData  = 0x20 // Info1: only whether the record exists
	Write      = 0x01 // Info2
	Delete     = 0x02 // Info2, with Write
	Generation = 0x04 // Info2: only if the generation is the one given
	CreateOnly = 0x20 // Info2: only if there is no record
	RespondAll = 0x80 // Info2: a result for each operation
	Last       = 0x01 // Info3: the end of a reply of several messages
	UpdateOnly = 0x08 // Info3: only if there is a record
	Replace    = 0x10 // Info3: drop the bins that aren't written
)

// Result codes that this module uses. The official client's package types has
// all of them.
const (
	OK                = 0
	ServerError       = 1
	NotFound          = 2
	GenerationError   = 3
	ParameterError    = 4
	KeyExists         = 5
	Timeout           = 9
	UnavailableNow    = 11 // the partition is moving
	TooBig            = 13 // the record; here a reply, too
	InvalidNamespace  = 20
	NotSupportedHere  = 25 // compression, in a server's Community Edition
	UnsupportedAction = 16
)

// Header is the fixed part of a message.
type Header struct {
	Info1, Info2, Info3 uint8
	Result              uint8
	Generation          uint32
	TTL                 uint32 // seconds; in a reply since 2010-01-01, zero is never
	Timeout             uint32 // ms; in a batch's reply the row's index
	Fields, Ops         uint16 // how many follow
}

// Append appends the header's 22 bytes.
func (h Header) Append(dst []byte) []byte {
	dst = append(dst, HeaderSize, h.Info1, h.Info2, h.Info3, 0, h.Result)
	dst = binary.BigEndian.AppendUint32(dst, h.Generation)
	dst = binary.BigEndian.AppendUint32(dst, h.TTL)
	dst = binary.BigEndian.AppendUint32(dst, h.Timeout)
	dst = binary.BigEndian.AppendUint16(dst, h.Fields)
	return binary.BigEndian.AppendUint16(dst, h.Ops)
}

func (c *cursor) header() (h Header) {
	at := c.off
	p := c.bytes(HeaderSize, "message header")
	if p == nil {
		return h
	}
	if p[0] != HeaderSize {
		c.fail(at, "message header of %d bytes, want %d", p[0], HeaderSize)
		return h
	}
	return Header{
		Info1: p[1], Info2: p[2], Info3: p[3], Result: p[5],
		Generation: binary.BigEndian.Uint32(p[6:]),
		TTL:        binary.BigEndian.Uint32(p[10:]),
		Timeout:    binary.BigEndian.Uint32(p[14:]),
		Fields:     binary.BigEndian.Uint16(p[18:]),
		Ops:        binary.BigEndian.Uint16(p[20:]),
	}
}

// FieldType is what a field holds.
type FieldType uint8

// The fields that this package knows.
const (
	FieldNamespace FieldType = 0
	FieldSet       FieldType = 1
	FieldKey       FieldType = 2 // the user's key, a particle type before it
	FieldDigest    FieldType = 4
	FieldBatch     FieldType = 41 // rows with all attributes
	FieldBatchGet  FieldType = 42 // rows that only read
)

// Field is a named part of a request.
type Field struct {
	Type FieldType
	Data []byte
}

// Append appends the field.
func (f Field) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(f.Data)+1))
	return append(append(dst, byte(f.Type)), f.Data...)
}

// PatchField writes the length of a field over the one at its start: field is
// the whole field, appended to since.
func PatchField(field []byte) {
	binary.BigEndian.PutUint32(field, uint32(len(field)-4))
}

const fieldHeaderSize = 5

func (c *cursor) field() Field {
	at := c.off
	n := c.u32("field length")
	if c.err == nil && n == 0 {
		c.fail(at, "field without a type")
	}
	p := c.bytes(int(n), "field")
	if p == nil {
		return Field{}
	}
	return Field{FieldType(p[0]), p[1:]}
}

// Message is a header with what follows it.
type Message struct {
	Header
	List []Field // the header's count is theirs
	Bins Ops     // the header's count is theirs
}

// Append appends the message; the counts in its header are those of List and
// Bins.
func (m Message) Append(dst []byte) []byte {
	h := m.Header
	h.Fields, h.Ops = uint16(len(m.List)), uint16(m.Bins.Count)
	dst = h.Append(dst)
	for _, f := range m.List {
		dst = f.Append(dst)
	}
	return append(dst, m.Bins.Data...)
}

// Parse reads the message at the start of b, and says how long it is. It uses
// the room in m.List. Offsets in an error count from b[0].
func (m *Message) Parse(b []byte) (n int, err error) {
	c := cursor{b: b}
	m.Header = c.header()
	m.List = m.List[:0]
	if int(m.Fields) > c.left()/fieldHeaderSize {
		c.fail(c.off, "%d fields can't be in %d bytes", m.Fields, c.left())
	}
	for i := 0; i < int(m.Fields) && c.err == nil; i++ {
		m.List = append(m.List, c.field())
	}
	m.Bins = c.ops(int(m.Ops))
	return c.off, c.err
}

// ParseRow reads the message at the start of b without its fields, as a
// reader of many replies does: nothing is allocated.
func ParseRow(b []byte) (h Header, bins Ops, n int, err error) {
	h, n, err = ParseRowHead(b)
	if err != nil {
		return h, Ops{}, n, err
	}
	c := cursor{b: b, off: n}
	bins = c.ops(int(h.Ops))
	return h, bins, c.off, c.err
}

// ParseRowHead reads the header at the start of b and passes over the fields:
// bins begin at b[n:]. They aren't looked at, so whoever walks them with
// [Ops.Next] must see to it that all of them come.
func ParseRowHead(b []byte) (h Header, n int, err error) {
	c := cursor{b: b}
	h = c.header()
	for i := 0; i < int(h.Fields) && c.err == nil; i++ {
		c.field()
	}
	return h, c.off, c.err
}
