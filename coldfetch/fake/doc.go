// Package fake is an S3 server in memory that takes its time: any S3 client
// connects to it, over loopback or over a network in memory.
//
//  1. [New] makes a [Server], which is an http.Handler. [Server.Start] listens on
//     a port, [Server.Serve] takes any listener, one of package bubble too.
//  2. Each request's signature is checked (auth.go), version 4 in the header;
//     then its body, whole or in signed chunks (chunked.go).
//  3. Buckets and objects live in a map (store.go). Keys are bytes: nothing is
//     cleaned, folded or normalised. ETag and checksums are computed once, when an
//     object is written.
//  4. The answer waits as the [Profile] says (pace.go), on the rig's waiter.
//  5. Faults act on schedule ([Config].Faults).
//
// It serves what the case uses: buckets (create, head, location, list, delete),
// PutObject, GetObject with ranges and conditions, HeadObject, ListObjectsV2,
// DeleteObject, DeleteObjects, and multipart uploads (create, part, complete,
// abort). All else is answered with NotImplemented, by name. There are no versions, no access
// rules beside the one key, no copies, no presigned URLs and no TLS.
package fake
