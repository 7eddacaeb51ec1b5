// Package aerospike re-creates a published study of a batch read that took
// 0.9 ms inside the client and 51 ms outside it, on the real Go client
// (github.com/aerospike/aerospike-client-go/v7).
//
// A request names several sets and user keys of each ([Query]). A [Pipeline]
// answers it in six steps, each a stage ([Stages]):
//
//  1. User keys become client keys (key_parse).
//  2. The work is handed to goroutines, if the [Mode] has any (setup,
//     schedule_delay), and to a worker of an [Executor], if there is one
//     (spawn_blocking_delay).
//  3. A limiter may hold it back (limiter_wait).
//  4. A [Reader] reads the records (io) and wraps them as handles, [Row]s
//     (into_object). [Official] is the client's own BatchGet or BatchOperate;
//     [Lazy] talks to the same nodes over the same connections, and leaves the
//     records as they came until someone asks.
//  5. The caller goes on (resume_delay).
//  6. Rows become what the [Form] says: maps (to_map), typed columns
//     (to_columns), or they stay handles; and they are put together by set and
//     position (merge). Lazy fills columns straight from the replies, without
//     rows ([ColumnReader]).
//
// Package predict puts a service around it, and package app makes that a program.
//
// # What Go has of the study's stages
//
// In the study setup bridges two runtimes and spawn_blocking_delay waits for a
// thread that holds the interpreter's lock. Go has neither. Here setup is what
// starting a goroutine takes before it is started, and spawn_blocking_delay is
// the wait for a free worker of an Executor. The official client decodes records
// as they arrive, so with Official the stage io has the decoding in it. A stage
// is only timed where it happens: without goroutines there is no setup,
// schedule_delay or resume_delay, without an Executor no spawn_blocking_delay,
// without a limit no limiter_wait.
//
// # Concurrency
//
// Pipelines, readers and executors may be used by any number of goroutines.
// Results are plain values of their caller.
package aerospike
