package rawblock

import (
	"context"
	"errors"
	"io"
)

// Device is what a store writes to. Offsets and lengths of all transfers are
// multiples of BlockSize, and buffers are aligned to it. All methods but Close
// may be called concurrently; transfers under way at once don't overlap, unless
// all of them read.
type Device interface {
	// ReadAt reads one buffer full. A short read is an error.
	io.ReaderAt
	io.Closer
	// BlockSize is the smallest unit that the device writes, in bytes. A block is
	// written whole or not at all; of several, any may be missing after a crash.
	BlockSize() int
	// Size is the usable size in bytes.
	Size() int64
	// Write does one write and returns when all of it is complete. When the device
	// takes part of it, it is asked for the rest; when it takes nothing, that is
	// ErrShortWrite.
	Write(ctx context.Context, w IO) error
	// Flush returns when every write that was complete before is durable.
	Flush(ctx context.Context) error
}

// Batcher is a device that takes many transfers in one submission. A store uses
// it for strategy Batch and for GetMany; a device without it gets the old loop.
type Batcher interface {
	Device
	// WriteBatch hands all writes over, calls submitted once, if it isn't nil, when
	// no more is to be handed over, and returns when all that were are complete.
	// Each write's Err says what became of it, ErrNotDone if it was never handed
	// over; the error is the first of them. Writes of a batch don't overlap.
	WriteBatch(ctx context.Context, ws []IO, submitted func()) error
	// ReadBatch fills the buffers of all, and reports as WriteBatch does.
	ReadBatch(ctx context.Context, rs []IO) error
}

// Registrar is a device that moves bytes with less work to and from memory that it
// was told of.
type Registrar interface {
	Device
	// Register tells the device of memory outside the Go heap that stays mapped
	// where it is until Close. It may wait for transfers under way.
	Register(mem []byte) error
}

// IO is one contiguous transfer.
type IO struct {
	Off int64
	Buf []byte
	// HeaderOnly marks the separate write of a slot's header, which the study
	// says may go out apart from the batch. Only fakes look at it.
	HeaderOnly bool
	// Err is set by batches: why this transfer failed, or nil.
	Err error
}

// Errors of devices. They come wrapped with what was asked, where and what to do.
var (
	// ErrShortWrite occurs when the device took none of the bytes that were left to
	// write, without an error of its own.
	ErrShortWrite = errors.New("short write")
	// ErrNotDone occurs for the transfers of a batch that weren't handed over after
	// another one had failed.
	ErrNotDone = errors.New("not done, since another transfer of the batch failed")
	// ErrRange occurs when a transfer lies outside the part of a file or block
	// device that was handed over, or isn't made of whole blocks. Nothing was moved.
	ErrRange = errors.New("outside the device's range")
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
