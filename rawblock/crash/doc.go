// Package crash finds out what a crash may do to a store.
//
// A Recorder is a device in memory that keeps the history of what it was asked:
// each submission of writes, its completion, each flush. States enumerates in
// what state a crash after any part of the history may leave the device:
//
//   - what was complete before a flush began that is complete survives;
//   - of everything else that was submitted, any part may survive: the block is
//     the unit that is written whole or not at all, and each block is on its own.
//     A block that was written several times may hold any of what was written;
//   - a write that failed counts as never complete.
//
// A store is sound if it recovers from each of them. Package replay makes up
// histories and looks at each state: its test at all states of short histories,
// the test here at 20,000 or LATLAB_CRASH_STATES of random ones. A failure prints
// its seed, which LATLAB_CRASH_SEED replays.
package crash
