// Package wire encodes and decodes the part of the Aerospike protocol that
// reads, writes, batches and a tending client need, in both directions.
//
//  1. A frame is 8 bytes, with a type and a size, and a body: [ReadFrame],
//     [AppendFrame].
//  2. An info body is text: [ParseInfoRequest], [ParseInfoReply].
//  3. A message body holds messages: a [Header] of 22 bytes, then [Field]s,
//     then operations, which stay bytes ([Ops]) until someone walks them.
//  4. A batch request is one message with one field that lists rows: [Batch].
//  5. A value is a particle: [AppendValue], [Particle.Value]. Lists and maps are
//     packed as the client packs them.
//
// What is parsed points into the bytes that were given, and isn't copied. No
// input makes a function of this package panic, or allocate more than a small
// multiple of the input's length. What can't be read is a [FormatError], with
// its offset.
//
// Functions have no state, so any number of goroutines may use them. Parsed
// values are plain; they may be read by several goroutines as long as nobody
// writes to the bytes they point into.
//
// The layout is that of the official Go client, v7, and of a server of version
// 8. All integers are big-endian.
package wire
