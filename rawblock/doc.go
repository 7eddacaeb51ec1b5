// Package rawblock is a slot store on a raw device or a file: fixed slots, an
// index in memory, and four ways to write many keys at once.
//
// It re-creates the write path of a published study of a cache back end. A key
// takes three steps: reserve a slot under the lock and mark the key in flight;
// write the slot without the lock; commit the key to the index under the lock.
// PutMany does them key by key (sequential), in a goroutine a key (fan-out), in
// a bounded pool, or for all keys at once:
//
//	A  lock once: drop keys that are stored or in flight, reserve a slot each
//	B  fill the buffers
//	C  hand all writes to the device in one submission and wait for them
//	D  lock once: commit what was written
//
// The batch is all or nothing: when the device fails, every slot goes back and
// nothing is committed. It needs a device that takes many writes in one
// submission (Batcher) and more than one key; otherwise the old loop, key by
// key, does the work. Options.Chunk cuts a batch into smaller ones. PutEach lets
// each key of a batch stand for itself.
//
// # On the device
//
// A superblock, written once by Format; two containers for checkpoints of the
// index, each with room for all slots; then the slots. A slot starts with a
// header: magic, instance of the format, generation, key, length, slot number,
// CRC32C of the payload and of itself. Every read checks all of it, so that a
// Get returns the bytes that were put, or an error. The layout decides whether
// the header is a write of its own.
//
// # After a crash
//
// Open takes the newest whole checkpoint and the headers that are newer than it.
// What it finds by then is decided by the durability mode and by Sync:
//
//	             a key whose put returned      and costs
//	none         may be missing                nothing
//	ordered      may be missing                a flush a write or batch, headers in a second submission
//	flushed      is there                      a flush a write or batch
//	any + Sync   is there                      two flushes and 32 B a key, a Sync
//
// In every mode a key that is found has the bytes of one of its puts, none mixed,
// and no slot is lost. In mode ordered, of a key that was never deleted no header
// is found without its payload, so that this doesn't rest on the checksum alone.
//
// A put that failed may be found after a crash, whole. A key that was deleted
// may be back, until a Sync. Close ends with a Sync.
//
// # Concurrency
//
// A Store may be used by many goroutines. A Device must allow concurrent calls;
// the store never has two writes in flight to the same slot, and never gives a
// slot away that a Get still reads. No lock is held while the device works.
package rawblock
