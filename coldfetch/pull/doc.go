// Package pull copies objects from an object store into a local folder, so that
// a file that is there is always whole.
//
// A pull has these steps:
//
//  1. Look: a file under the object's name is the object. Nothing else is asked.
//  2. Join: if the same object is being pulled, wait for that pull.
//  3. Get it into a temporary file of its own, in the same folder, with one
//     request; go on after a break where it stopped, under If-Match, so that two
//     versions of an object never mix.
//  4. Prove that all of it came: its length, and the store's checksum of the whole
//     object, or an ETag that is one.
//  5. Publish: fsync the file, close it, rename it, fsync the folder.
//
// Whatever goes wrong before the rename leaves only a temporary file, which the
// pull removes, or the next [New] if the process died.
//
// minio-go's own FGetObject does less: a test of this package shows that a body
// without a length and a flipped bit leave a wrong file and no error.
package pull
