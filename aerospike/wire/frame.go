package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// FrameType is what a frame's body is.
type FrameType uint8

// The types of frames that servers and clients exchange.
const (
	TypeInfo       FrameType = 1
	TypeMessage    FrameType = 3
	TypeCompressed FrameType = 4 // a length and a zlib stream; this package doesn't look inside
)

// Sizes in bytes.
const (
	FrameHeaderSize = 8
	MaxBody         = 10 << 20 // what the official client accepts
)

const version = 2

// AppendFrame appends the header of a frame whose body has size bytes.
func AppendFrame(dst []byte, t FrameType, size int) []byte {
	return binary.BigEndian.AppendUint64(dst, version<<56|uint64(t)<<48|uint64(size))
}

// PatchFrame writes the header of a frame over the 8 bytes at its start: frame
// is the whole frame, header included.
func PatchFrame(frame []byte, t FrameType) {
	binary.BigEndian.PutUint64(frame, version<<56|uint64(t)<<48|uint64(len(frame)-FrameHeaderSize))
}

// ParseFrameHeader reads the type and the size of the body from 8 bytes. A size
// above limit is an error.
func ParseFrameHeader(b []byte, limit int) (FrameType, int, error) {
	c := cursor{b: b}
	proto := c.u64("frame header")
	if c.err != nil {
		return 0, 0, c.err
	}
	t, size := FrameType(proto>>48), proto&(1<<48-1)
	switch {
	case proto>>56 != version:
		return 0, 0, &FormatError{0, fmt.Sprintf("version %d, want %d", proto>>56, version)}
	case t != TypeInfo && t != TypeMessage && t != TypeCompressed:
		return 0, 0, &FormatError{1, fmt.Sprintf("frame type %d, want 1, 3 or 4", t)}
	case size > uint64(limit):
		return 0, 0, &FormatError{2, fmt.Sprintf("body of %d bytes, at most %d are taken", size, limit)}
	}
	return t, int(size), nil
}

// ReadFrame reads a frame of at most limit bytes of body. The body is in buf if
// it has the capacity, else in a new slice: give it back as buf the next time.
// At the end of r before the first byte the error is io.EOF.
func ReadFrame(r io.Reader, buf []byte, limit int) (FrameType, []byte, error) {
	if cap(buf) < FrameHeaderSize {
		buf = make([]byte, 0, 4096)
	}
	header := buf[:FrameHeaderSize]
	if _, err := io.ReadFull(r, header); err != nil {
		return 0, buf, err
	}
	t, size, err := ParseFrameHeader(header, limit)
	if err != nil {
		return 0, buf, err
	}
	// A size is believed up to what arrives: memory grows with the bytes read.
	const step = 256 << 10
	buf = buf[:0]
	for len(buf) < size {
		n := min(size-len(buf), max(step, cap(buf)-len(buf)))
		if cap(buf)-len(buf) < n {
			grown := make([]byte, len(buf), max(len(buf)+n, min(2*cap(buf), size)))
			copy(grown, buf)
			buf = grown
		}
		if _, err := io.ReadFull(r, buf[len(buf):len(buf)+n]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, buf[:0], fmt.Errorf("wire: frame of %d bytes, after %d: %w", size, len(buf), err)
		}
		buf = buf[:len(buf)+n]
	}
	return t, buf, nil
}
