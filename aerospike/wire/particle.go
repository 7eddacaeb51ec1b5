package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Particle is the type of a value.
type Particle uint8

// The particles that this package encodes and decodes.
const (
	Null   Particle = 0
	Int    Particle = 1
	Float  Particle = 2
	String Particle = 3
	Blob   Particle = 4
	Bool   Particle = 17
	Map    Particle = 19
	List   Particle = 20
)

// ErrValue occurs when a Go value has no particle here; it comes wrapped with
// the value's type.
var ErrValue = errors.New("no particle for this value")

// AppendValue appends a value's bytes and says which particle they are. It
// takes nil, bool, int, int64, float64, string, []byte, []any and map[any]any,
// and within the last two uint64 too. Keys of maps are integers, floats,
// strings or bools.
func AppendValue(dst []byte, v any) (Particle, []byte, error) {
	switch v := v.(type) {
	case nil:
		return Null, dst, nil
	case bool:
		if v {
			return Bool, append(dst, 1), nil
		}
		return Bool, append(dst, 0), nil
	case int:
		return Int, binary.BigEndian.AppendUint64(dst, uint64(v)), nil
	case int64:
		return Int, binary.BigEndian.AppendUint64(dst, uint64(v)), nil
	case float64:
		return Float, binary.BigEndian.AppendUint64(dst, math.Float64bits(v)), nil
	case string:
		return String, append(dst, v...), nil
	case []byte:
		return Blob, append(dst, v...), nil
	case []any:
		dst, err := pack(dst, v, 0)
		return List, dst, err
	case map[any]any:
		dst, err := pack(dst, v, 0)
		return Map, dst, err
	}
	return Null, dst, fmt.Errorf("wire: %w: %T", ErrValue, v)
}

// Value decodes the bytes of a particle: nil, int64, float64, string, []byte,
// bool, []any or map[any]any. It copies what it keeps. Offsets in an error count
// from b[0].
func (p Particle) Value(b []byte) (any, error) {
	switch p {
	case Null:
		if len(b) != 0 {
			return nil, &FormatError{0, fmt.Sprintf("a null of %d bytes", len(b))}
		}
		return nil, nil
	case Int:
		return p.Int(b)
	case Float:
		return p.Float(b)
	case String:
		return string(b), nil
	case Blob:
		return append([]byte{}, b...), nil
	case Bool:
		if len(b) != 1 {
			return nil, &FormatError{0, fmt.Sprintf("a bool of %d bytes", len(b))}
		}
		return b[0] != 0, nil
	case List, Map:
		c := cursor{b: b}
		v := c.unpack(0)
		if c.err == nil && c.left() > 0 {
			c.fail(c.off, "%d bytes after the end of the value", c.left())
		}
		if _, isList := v.([]any); c.err == nil && isList != (p == List) {
			c.fail(0, "particle %d holds a %T", p, v)
		}
		if _, isMap := v.(map[any]any); c.err == nil && isMap != (p == Map) {
			c.fail(0, "particle %d holds a %T", p, v)
		}
		if c.err != nil {
			return nil, c.err
		}
		return v, nil
	}
	return nil, &FormatError{0, fmt.Sprintf("particle type %d isn't known here", p)}
}

// Int decodes an integer of 1, 2, 4 or 8 bytes. Shorter ones are signed as the
// client reads them: those of one byte aren't.
func (p Particle) Int(b []byte) (int64, error) {
	if p == Int {
		switch len(b) {
		case 1:
			return int64(b[0]), nil
		case 2:
			return int64(int16(binary.BigEndian.Uint16(b))), nil
		case 4:
			return int64(int32(binary.BigEndian.Uint32(b))), nil
		case 8:
			return int64(binary.BigEndian.Uint64(b)), nil
		}
	}
	return 0, &FormatError{0, fmt.Sprintf("particle %d of %d bytes is no integer", p, len(b))}
}

// Float decodes a float of 8 bytes.
func (p Particle) Float(b []byte) (float64, error) {
	if p != Float || len(b) != 8 {
		return 0, &FormatError{0, fmt.Sprintf("particle %d of %d bytes is no float", p, len(b))}
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
}
