package wire

import (
	"encoding/binary"
	"slices"
)

// Flags of a batch.
const (
	Inline         = 1 // serve the rows one after the other, on the thread that read the request
	RespondAllKeys = 4 // go on after a row that fails
)

// Bits of BatchRow.Type.
const (
	RowRepeat     = 1 // everything but index and digest is as in the row before
	RowInfo       = 2 // three bytes of attributes; otherwise there is one
	RowGeneration = 4
	RowTTL        = 8
)

// DigestSize is the size of a key's digest in bytes.
const DigestSize = 20

// Digest identifies a record within its namespace.
type Digest [DigestSize]byte

// Batch is the content of a batch field.
type Batch struct {
	Flags uint8
	Rows  []BatchRow
}

// BatchRow asks for one record. With RowRepeat the fields below Type are those
// of the row before; parsing fills them in.
type BatchRow struct {
	Index               uint32 // the reply names it
	Digest              Digest
	Type                uint8
	Info1, Info2, Info3 uint8
	Generation          uint16
	TTL                 uint32
	Namespace, Set      []byte
	UserKey             []byte // with its particle type before it; nil if it isn't sent
	Bins                Ops
}

// Append appends the field's data: rows of kind FieldBatch or FieldBatchGet.
func (b Batch) Append(dst []byte, kind FieldType) []byte {
	dst = AppendBatchStart(dst, len(b.Rows), b.Flags)
	for i := range b.Rows {
		dst = b.Rows[i].Append(dst, kind)
	}
	return dst
}

// AppendBatchStart appends what stands before a batch's rows, for callers that
// append the rows one by one.
func AppendBatchStart(dst []byte, rows int, flags uint8) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(rows)), flags)
}

// Append appends the row to the data of a field of kind FieldBatch or
// FieldBatchGet.
func (r *BatchRow) Append(dst []byte, kind FieldType) []byte {
	if r.Type&RowRepeat != 0 {
		return AppendBatchRepeat(dst, r.Index, r.Digest)
	}
	dst = binary.BigEndian.AppendUint32(dst, r.Index)
	dst = append(dst, r.Digest[:]...)
	dst = append(dst, r.Type, r.Info1)
	if r.Type&RowInfo != 0 {
		dst = append(dst, r.Info2, r.Info3)
	}
	if r.Type&RowGeneration != 0 {
		dst = binary.BigEndian.AppendUint16(dst, r.Generation)
	}
	if r.Type&RowTTL != 0 {
		dst = binary.BigEndian.AppendUint32(dst, r.TTL)
	}
	fields := uint16(2)
	if r.UserKey != nil {
		fields++
	}
	dst = binary.BigEndian.AppendUint16(dst, fields)
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Bins.Count))
	dst = Field{FieldNamespace, r.Namespace}.Append(dst)
	dst = Field{FieldSet, r.Set}.Append(dst)
	if r.UserKey != nil {
		dst = Field{FieldKey, r.UserKey}.Append(dst)
	}
	return append(dst, r.Bins.Data...)
}

// AppendBatchRepeat appends a row that is like the one before but for index and
// digest.
func AppendBatchRepeat(dst []byte, index uint32, d Digest) []byte {
	dst = binary.BigEndian.AppendUint32(dst, index)
	dst = append(dst, d[:]...)
	return append(dst, RowRepeat)
}

const rowSize = 4 + DigestSize + 1 // a repeating one; the others are longer

// Parse reads a field's data. It uses the room in b.Rows. Rows of FieldBatchGet
// have no type bit but RowRepeat. The bytes must end with the last row, and the
// first row can't repeat.
func (b *Batch) Parse(data []byte, kind FieldType) error {
	c := cursor{b: data}
	count := int(c.u32("row count"))
	b.Flags = c.u8("batch flags")
	b.Rows = b.Rows[:0]
	if c.err == nil && (count < 0 || count > c.left()/rowSize) {
		c.fail(0, "%d rows can't be in %d bytes", count, c.left())
	}
	if c.err == nil {
		b.Rows = slices.Grow(b.Rows, count)
	}
	for i := 0; i < count && c.err == nil; i++ {
		at := c.off
		r := BatchRow{Index: c.u32("row index")}
		copy(r.Digest[:], c.bytes(DigestSize, "digest"))
		r.Type = c.u8("row type")
		switch {
		case r.Type&RowRepeat != 0 && i == 0:
			c.fail(at, "the first row repeats a row before it")
		case r.Type&RowRepeat != 0:
			was := b.Rows[i-1]
			was.Index, was.Digest, was.Type = r.Index, r.Digest, was.Type|RowRepeat
			r = was
		case kind == FieldBatchGet && r.Type != 0:
			c.fail(at, "row type %d in a batch that only reads", r.Type)
		case r.Type >= 2*RowTTL:
			c.fail(at, "row type %d isn't known here", r.Type)
		default:
			c.row(&r)
		}
		b.Rows = append(b.Rows, r)
	}
	if c.err == nil && c.left() > 0 {
		c.fail(c.off, "%d bytes after the last of %d rows", c.left(), count)
	}
	return c.err
}

// row reads what follows the type of a row that doesn't repeat.
func (c *cursor) row(r *BatchRow) {
	r.Info1 = c.u8("row attributes")
	if r.Type&RowInfo != 0 {
		r.Info2, r.Info3 = c.u8("row attributes"), c.u8("row attributes")
	}
	if r.Type&RowGeneration != 0 {
		r.Generation = c.u16("generation")
	}
	if r.Type&RowTTL != 0 {
		r.TTL = c.u32("ttl")
	}
	fields, ops := int(c.u16("field count")), int(c.u16("operation count"))
	for i := 0; i < fields && c.err == nil; i++ {
		at := c.off
		switch f := c.field(); f.Type {
		case FieldNamespace:
			r.Namespace = f.Data
		case FieldSet:
			r.Set = f.Data
		case FieldKey:
			r.UserKey = f.Data
		default:
			c.fail(at, "field %d in a batch row isn't known here", f.Type)
		}
	}
	r.Bins = c.ops(ops)
}
