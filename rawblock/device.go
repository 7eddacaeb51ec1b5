package rawblock

import (
	"context"
	"errors"
	"io"
)

// Device is what a store writes to. Offsets and lengths of all calls are
// multiples of BlockSize, and buffers are aligned to it. All methods but Close
// may be called concurrently.
type Device interface {
	io.ReaderAt
	io.Closer
	// BlockSize is the smallest unit that the device writes, in bytes.
	BlockSize() int
	// Size is the usable size in bytes.
	Size() int64
	// Write does one write and returns when it is complete. A short write is an error.
	Write(ctx context.Context, w Write) error
}

// Batcher is a device that takes many writes in one submission. A store uses
// WriteBatch for strategy Batch; a device without it gets the old loop.
type Batcher interface {
	Device
	// WriteBatch hands all writes over, calls submitted once, when no more is to
	// be handed over, and returns when all are complete. If it fails, any part
	// may have been written. Writes of a batch don't overlap.
	WriteBatch(ctx context.Context, ws []Write, submitted func()) error
}

// Write is one contiguous write.
type Write struct {
	Off int64
	Buf []byte
	// HeaderOnly marks the separate write of a slot's header, which the study
	// says may go out apart from the batch. Only fakes look at it.
	HeaderOnly bool
}

// Errors of devices. They come wrapped with what was asked, where and what to do.
var (
	// ErrShortWrite occurs when the device took fewer bytes than it was given,
	// without an error of its own: for example at the end of a device.
	ErrShortWrite = errors.New("short write")
	// ErrTooSmall occurs when a device can't hold a single slot.
	ErrTooSmall = errors.New("device smaller than a slot")
	// ErrFileSystem occurs when a file lies where O_DIRECT means nothing, as on tmpfs.
	ErrFileSystem = errors.New("file system without a device")
	// ErrPlatform occurs where direct I/O is built for Linux only.
	ErrPlatform = errors.New("needs Linux")
	// ErrNotBuilt occurs when an engine was left out of this build.
	ErrNotBuilt = errors.New("engine not built in")
	// ErrBlocked occurs when the kernel or a sandbox forbids an engine.
	ErrBlocked = errors.New("engine blocked on this host")
)
