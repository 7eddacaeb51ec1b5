package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Lists and maps are MessagePack. Strings and blobs both use its string codes,
// with the particle type as the first byte.

// maxDepth is how deep lists and maps may lie in each other.
const maxDepth = 32

func pack(dst []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, fmt.Errorf("wire: %w: lists and maps more than %d deep", ErrValue, maxDepth)
	}
	var err error
	switch v := v.(type) {
	case nil:
		return append(dst, 0xc0), nil
	case bool:
		if v {
			return append(dst, 0xc3), nil
		}
		return append(dst, 0xc2), nil
	case int:
		return packInt(dst, int64(v)), nil
	case int64:
		return packInt(dst, v), nil
	case uint64:
		if v <= math.MaxInt64 {
			return packInt(dst, int64(v)), nil
		}
		return binary.BigEndian.AppendUint64(append(dst, 0xcf), v), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(v)), nil
	case string:
		return append(append(packSize(dst, len(v)+1, 0xa0, 32, 0xd9), byte(String)), v...), nil
	case []byte:
		return append(append(packSize(dst, len(v)+1, 0xa0, 32, 0xd9), byte(Blob)), v...), nil
	case []any:
		dst = packSize(dst, len(v), 0x90, 16, 0xdb)
		for _, x := range v {
			if dst, err = pack(dst, x, depth+1); err != nil {
				return dst, err
			}
		}
		return dst, nil
	case map[any]any:
		dst = packSize(dst, len(v), 0x80, 16, 0xdd)
		for k, x := range v {
			switch k.(type) {
			case nil, bool, int, int64, uint64, float64, string:
			default:
				return dst, fmt.Errorf("wire: %w: %T as a map's key", ErrValue, k)
			}
			if dst, err = pack(dst, k, depth+1); err != nil {
				return dst, err
			}
			if dst, err = pack(dst, x, depth+1); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
	return dst, fmt.Errorf("wire: %w: %T", ErrValue, v)
}

// packSize writes a size: in the code itself if it is under limit, else in 8,
// 16 or 32 bits after codes wide, wide+1 and wide+2. Lists and maps have no
// 8-bit code: their wide is one less than their 16-bit code.
func packSize(dst []byte, n int, code byte, limit int, wide byte) []byte {
	switch {
	case n < limit:
		return append(dst, code|byte(n))
	case n < 1<<8 && code == 0xa0:
		return append(dst, wide, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, wide+1), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, wide+2), uint32(n))
}

func packInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0 && v < 1<<7, v < 0 && v >= -32:
		return append(dst, byte(v))
	case v >= 0 && v < 1<<8:
		return append(dst, 0xcc, byte(v))
	case v >= 0 && v < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(v))
	case v >= 0 && v < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(v))
	case v >= 0:
		return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(v))
	case v >= math.MinInt8:
		return append(dst, 0xd0, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, 0xd1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(v))
}

// room is how many elements a list or map gets memory for before they are read:
// nested ones that claim to be long can't take more than their bytes are worth.
const room = 8

// extension stands for a MessagePack extension: servers put one at the start of
// a sorted list or map. It is no element.
type extension struct{}

func (c *cursor) unpack(depth int) any {
	at := c.off
	if depth > maxDepth {
		c.fail(at, "lists and maps more than %d deep", maxDepth)
		return nil
	}
	code := c.u8("value")
	switch {
	case code < 0x80:
		return int64(code)
	case code < 0x90:
		return c.unpackMap(int(code&0x0f), depth)
	case code < 0xa0:
		return c.unpackList(int(code&0x0f), depth)
	case code < 0xc0:
		return c.unpackText(int(code & 0x1f))
	case code >= 0xe0:
		return int64(int8(code))
	}
	switch code {
	case 0xc0:
		return nil
	case 0xc2, 0xc3:
		return code == 0xc3
	case 0xc4, 0xd9:
		return c.unpackText(int(c.u8("length")))
	case 0xc5, 0xda:
		return c.unpackText(int(c.u16("length")))
	case 0xc6, 0xdb:
		return c.unpackText(int(c.u32("length")))
	case 0xca:
		return float64(math.Float32frombits(c.u32("float")))
	case 0xcb:
		return math.Float64frombits(c.u64("float"))
	case 0xcc:
		return int64(c.u8("integer"))
	case 0xcd:
		return int64(c.u16("integer"))
	case 0xce:
		return int64(c.u32("integer"))
	case 0xcf:
		if v := c.u64("integer"); v > math.MaxInt64 {
			return v
		} else {
			return int64(v)
		}
	case 0xd0:
		return int64(int8(c.u8("integer")))
	case 0xd1:
		return int64(int16(c.u16("integer")))
	case 0xd2:
		return int64(int32(c.u32("integer")))
	case 0xd3:
		return int64(c.u64("integer"))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		c.bytes(1+1<<(code-0xd4), "extension")
		return extension{}
	case 0xc7:
		c.bytes(1+int(c.u8("length")), "extension")
		return extension{}
	case 0xc8:
		c.bytes(1+int(c.u16("length")), "extension")
		return extension{}
	case 0xc9:
		c.bytes(1+int(c.u32("length")), "extension")
		return extension{}
	case 0xdc:
		return c.unpackList(int(c.u16("length")), depth)
	case 0xdd:
		return c.unpackList(int(c.u32("length")), depth)
	case 0xde:
		return c.unpackMap(int(c.u16("length")), depth)
	case 0xdf:
		return c.unpackMap(int(c.u32("length")), depth)
	}
	c.fail(at, "code %#02x isn't known here", code)
	return nil
}

func (c *cursor) unpackText(n int) any {
	at := c.off
	p := c.bytes(n, "text")
	if c.err != nil {
		return nil
	}
	if n == 0 {
		c.fail(at, "a string or blob without its particle type")
		return nil
	}
	switch Particle(p[0]) {
	case String:
		return string(p[1:])
	case Blob:
		return append([]byte{}, p[1:]...)
	}
	c.fail(at, "particle %d within a list or map isn't known here", p[0])
	return nil
}

func (c *cursor) unpackList(n, depth int) any {
	if n < 0 || n > c.left() {
		c.fail(c.off, "a list of %d elements can't be in %d bytes", n, c.left())
		return nil
	}
	list := make([]any, 0, min(n, room))
	for i := 0; i < n && c.err == nil; i++ {
		v := c.unpack(depth + 1)
		if _, ext := v.(extension); ext {
			if i > 0 {
				c.fail(c.off, "an extension within a list")
			}
			continue
		}
		list = append(list, v)
	}
	return list
}

func (c *cursor) unpackMap(n, depth int) any {
	if n < 0 || n > c.left()/2 {
		c.fail(c.off, "a map of %d pairs can't be in %d bytes", n, c.left())
		return nil
	}
	m := make(map[any]any, min(n, room))
	for i := 0; i < n && c.err == nil; i++ {
		at := c.off
		k := c.unpack(depth + 1)
		v := c.unpack(depth + 1)
		switch k.(type) {
		case nil, bool, int64, uint64, float64, string:
			if _, ext := v.(extension); ext {
				c.fail(at, "an extension as a map's value")
			}
			m[k] = v
		case extension: // of a sorted map; its value means nothing
			if i > 0 {
				c.fail(at, "an extension within a map")
			}
		default:
			c.fail(at, "a %T as a map's key", k)
		}
	}
	return m
}
