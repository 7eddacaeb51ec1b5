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
// key, does the work.
//
// # Not here yet
//
// The index lives in memory only: a store starts empty, and nothing is promised
// after a crash.
//
// # Concurrency
//
// A Store may be used by many goroutines. A Device must allow concurrent calls;
// the store never has two writes in flight to the same slot, and never gives a
// slot away that a Get still reads.
package rawblock
