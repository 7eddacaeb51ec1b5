// Package coldfetch will re-create a published study of a document service
// whose test stack differed from production in its cores and in its missing
// object store (github.com/minio/minio-go/v7).
//
// It offers no experiment yet: `latlab list` does not name it, and nothing in
// this module measures or models anything.
package coldfetch
