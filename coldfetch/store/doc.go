// Package store finds a real S3 server for tests and rigs, and cleans up there.
//
//  1. If LATLAB_S3 names an endpoint, that is it, with the keys of the usual AWS
//     variables.
//  2. Else versitygw is started on loopback, over a folder of files, if it was
//     built before: `make deps` does that once. It is run as a program and never
//     linked.
//
// Either way [Open] gives a bucket or a prefix that nobody else uses, and
// [Place.Close] removes what is in it.
package store
