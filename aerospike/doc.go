// Package aerospike will re-create a published study of a batch read that took
// 0.9 ms inside the client and 51 ms outside it, on the real Go client
// (github.com/aerospike/aerospike-client-go/v7).
//
// It offers no experiment yet: `latlab list` does not name it, and nothing in
// this module measures or models anything.
package aerospike
