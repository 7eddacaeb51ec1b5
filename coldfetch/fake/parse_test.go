package fake

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		header   string
		size     int
		from, to int
		part     bool
		fails    bool
	}{
		{"", 10, 0, 10, false, false},
		{"bytes=0-3", 10, 0, 4, true, false},
		{"bytes=5-", 10, 5, 10, true, false},
		{"bytes=-3", 10, 7, 10, true, false},
		{"bytes=-30", 10, 0, 10, true, false},
		{"bytes=3-99999999999", 10, 3, 10, true, false},
		{"bytes=10-", 10, 0, 0, false, true},
		{"bytes=-0", 10, 0, 0, false, true},
		{"bytes=0-", 0, 0, 0, false, true},
		{"bytes=5-3", 10, 0, 10, false, false},
		{"bytes=1-2,4-5", 10, 0, 10, false, false},
		{"lines=1-2", 10, 0, 10, false, false},
		{"bytes=-", 10, 0, 10, false, false},
		{"bytes=99999999999999999999-", 10, 0, 10, false, false},
	} {
		from, to, part, f := parseRange(c.header, c.size)
		if (f != nil) != c.fails || f == nil && (from != c.from || to != c.to || part != c.part) {
			t.Errorf("%q of %d: %d-%d, part %v, %v", c.header, c.size, from, to, part, f)
		}
	}
}

func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"bytes=0-1", "bytes=-5", "bytes=5-", "bytes=,"} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, header string, size int) {
		size &= 1<<20 - 1
		from, to, part, fail := parseRange(header, size)
		if fail != nil {
			return
		}
		if from < 0 || to < from || to > size || part && from == to || !part && (from != 0 || to != size) {
			t.Errorf("%q of %d: %d-%d, part %v", header, size, from, to, part)
		}
	})
}

func FuzzParseAuthorization(f *testing.F) {
	f.Add("AWS4-HMAC-SHA256 Credential=a/b/20060102/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + strings.Repeat("0", 64))
	f.Add("AWS4-HMAC-SHA256 Credential=,SignedHeaders=,Signature=")
	f.Fuzz(func(t *testing.T, header string) {
		a, ok := parseAuthorization(header)
		if !ok {
			return
		}
		again := fmt.Sprintf("%s Credential=%s/%s,SignedHeaders=%s,Signature=%s", algorithm, a.accessKey, a.scope(), strings.Join(a.signed, ";"), a.signature)
		if b, ok := parseAuthorization(again); !ok || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%q reads as %+v, which reads as %+v", header, a, b)
		}
	})
}

// Whatever comes, reading chunks ends, and gives either an error or so many bytes
// as were declared.
func FuzzReadChunks(f *testing.F) {
	f.Add([]byte("3\r\nabc\r\n0\r\n\r\n"), int64(3), true)
	f.Add([]byte("3\r\nabc\r\n0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n"), int64(3), true)
	f.Add([]byte("ffffffff\r\nabc"), int64(3), false)
	f.Add([]byte("0\n"), int64(0), false)
	f.Fuzz(func(t *testing.T, raw []byte, n int64, trailer bool) {
		n &= 1<<16 - 1
		body, _, fail := readChunks(bufio.NewReader(bytes.NewReader(raw)), n, nil, trailer)
		if fail == nil && int64(len(body)) != n {
			t.Errorf("%d bytes, declared %d", len(body), n)
		}
	})
}
