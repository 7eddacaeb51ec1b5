package fake

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
)

// sumKinds are the checksums that S3 keeps with an object, by the end of their
// header's name.
var sumKinds = map[string]minio.ChecksumType{
	"crc32": minio.ChecksumCRC32, "crc32c": minio.ChecksumCRC32C, "crc64nvme": minio.ChecksumCRC64NVME,
	"sha1": minio.ChecksumSHA1, "sha256": minio.ChecksumSHA256,
}

const (
	sumHeader  = "X-Amz-Checksum-"
	defaultSum = "crc64nvme" // which S3 computes when the client gives none
)

// sum is a checksum as headers carry it.
type sum struct{ kind, value string }

func sumOf(kind string, body []byte) string {
	h := sumKinds[kind].Hasher()
	h.Write(body)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// checkSums compares a body with the checksums that came with it, and chooses the
// one to keep.
func checkSums(body []byte, headers ...http.Header) (sum, *failure) {
	kept := sum{}
	for _, h := range headers {
		if md := h.Get("Content-Md5"); md != "" {
			want, err := base64.StdEncoding.DecodeString(md)
			if err != nil || len(want) != md5.Size {
				return kept, errDigestForm
			}
			if got := md5.Sum(body); string(got[:]) != string(want) {
				return kept, errBadDigest
			}
		}
		for kind, t := range sumKinds {
			given := h.Get(sumHeader + kind)
			if given == "" {
				continue
			}
			if raw, err := base64.StdEncoding.DecodeString(given); err != nil || len(raw) != t.RawByteLen() {
				return kept, errDigestForm
			}
			if sumOf(kind, body) != given {
				return kept, errBadDigest
			}
			kept = sum{kind, given}
		}
	}
	if kept.kind == "" {
		kept = sum{defaultSum, sumOf(defaultSum, body)}
	}
	return kept, nil
}

func etagOf(body []byte) string {
	md := md5.Sum(body)
	return `"` + hex.EncodeToString(md[:]) + `"`
}

// etagOfParts is the ETag of a multipart object: no checksum of its bytes.
func etagOfParts(etags []string) (string, error) {
	h := md5.New()
	for _, e := range etags {
		raw, err := hex.DecodeString(strings.Trim(e, `"`))
		if err != nil {
			return "", err
		}
		h.Write(raw)
	}
	return fmt.Sprintf(`"%x-%d"`, h.Sum(nil), len(etags)), nil
}
