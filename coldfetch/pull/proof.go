package pull

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
)

// proof is a checksum under way. The zero proof checks nothing.
type proof struct {
	name string // crc64nvme, ..., md5 or length
	hash hash.Hash
	want []byte
}

// sums are the checksums to look for, the cheapest first.
var sums = []struct {
	name string
	kind minio.ChecksumType
}{
	{"crc64nvme", minio.ChecksumCRC64NVME},
	{"crc32c", minio.ChecksumCRC32C},
	{"crc32", minio.ChecksumCRC32},
	{"sha256", minio.ChecksumSHA256},
	{"sha1", minio.ChecksumSHA1},
}

// proofOf chooses what the store gives to check the whole object by: a checksum of
// all its bytes, or an ETag that is their MD5. ok is false if there is neither.
func proofOf(info minio.ObjectInfo, header http.Header) (p proof, ok bool) {
	if header.Get("X-Amz-Checksum-Type") != "COMPOSITE" {
		for _, s := range sums {
			// One of parts' checksums ends with a hyphen and their number.
			raw, err := base64.StdEncoding.DecodeString(header.Get(s.kind.Key()))
			if err == nil && len(raw) == s.kind.RawByteLen() {
				return proof{s.name, s.kind.Hasher(), raw}, true
			}
		}
	}
	// With a key of the client's or of a key service the ETag is something else.
	encrypted := header.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") != "" ||
		strings.HasPrefix(header.Get("X-Amz-Server-Side-Encryption"), "aws:")
	if raw, err := hex.DecodeString(info.ETag); err == nil && len(raw) == md5.Size && !encrypted {
		return proof{"md5", md5.New(), raw}, true
	}
	return proof{name: "length"}, false
}

func (p *proof) add(b []byte) {
	if p.hash != nil {
		p.hash.Write(b)
	}
}

func (p *proof) check() error {
	if p.hash == nil {
		return nil
	}
	if got := p.hash.Sum(nil); string(got) != string(p.want) {
		return fmt.Errorf("%w: %s is %x, and the store says %x", ErrChecksum, p.name, got, p.want)
	}
	return nil
}
