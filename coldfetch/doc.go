// Package coldfetch re-creates a published study of a document service whose test
// stack differed from production in its cores and in its missing object store
// (github.com/minio/minio-go/v7).
//
// A [Service] answers a request for a document in these stages ([Stages]):
//
//  1. It waits until its handler runs (queue). Who waits for whom is the
//     [Mode], which package exec puts into practice.
//  2. The document's file is made local (locate) by a [Locator], which finds it on
//     the disk or pulls it from the store: package pull.
//  3. The document is built (build) unless the cache has it: parsed, indexed and
//     rendered, in a time that [Options].Nodes states.
//  4. It is written as JSON (json) and sent (write).
//
// The listing has two stages (manifest, corpus), each of which waits for its turn.
// The health endpoint does nothing; what it takes is what others make it wait.
//
// Keys are never typed by hand: the service and package seed, which fills a
// store, get them from package slug.
//
// # Around it
//
//   - exec: the modes of execution.
//   - probe: loop lag, scheduling latency, timer overshoot, an open-loop health
//     probe, and what each is blind to.
//   - proxy: a proxy in front that records what the client's side saw.
//   - app: the service as a command, for any load tool.
//   - study: what is offered to the runner.
//
// # Concurrency
//
// A Service may be used by any number of goroutines. Documents, once built, are
// shared and never changed.
package coldfetch
