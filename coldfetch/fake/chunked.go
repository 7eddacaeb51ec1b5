package fake

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxObject bounds a body. The fake keeps objects in memory.
const maxObject = 1 << 30

// maxLine bounds a chunk's header and a line of the trailer.
const maxLine = 4096

var errChunk = fail(http.StatusBadRequest, "InvalidRequest", "The body isn't in the chunks that its headers declare.")

var errChunkSignature = fail(http.StatusForbidden, "SignatureDoesNotMatch", "The signature of a chunk or of the trailer does not match.")

// readBody reads what a request carries, and checks it against its signature. The
// trailer holds headers that came behind it.
func (c *call) readBody() (body []byte, trailer http.Header, f *failure) {
	declared := c.r.Header.Get("X-Amz-Content-Sha256")
	switch declared {
	case signedChunks, signedTrailer, unsignedTrailer:
		n, err := strconv.ParseInt(c.r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64)
		if err != nil || n < 0 {
			return nil, nil, errNoLength
		}
		if n > maxObject {
			return nil, nil, errTooLarge
		}
		signer := c.signer
		if declared == unsignedTrailer {
			signer = nil
		}
		return readChunks(bufio.NewReader(c.r.Body), n, signer, declared != signedChunks)
	}
	if c.r.ContentLength < 0 {
		return nil, nil, errNoLength
	}
	if c.r.ContentLength > maxObject {
		return nil, nil, errTooLarge
	}
	body = make([]byte, c.r.ContentLength)
	if _, err := io.ReadFull(c.r.Body, body); err != nil {
		return nil, nil, errIncomplete
	}
	if declared == unsignedPayload {
		return body, nil, nil
	}
	sum := sha256.Sum256(body)
	if !strings.EqualFold(declared, hex.EncodeToString(sum[:])) {
		return nil, nil, fail(http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
	}
	return body, nil, nil
}

// readChunks reads a body of n bytes in the framing aws-chunked. With a signer,
// each chunk is signed, and the trailer if there is one.
func readChunks(r *bufio.Reader, n int64, s *signer, wantTrailer bool) (body []byte, trailer http.Header, f *failure) {
	body = make([]byte, 0, n)
	for {
		line, ok := readLine(r)
		if !ok {
			return nil, nil, errIncomplete
		}
		hexSize, extension, _ := strings.Cut(line, ";")
		size, err := strconv.ParseUint(hexSize, 16, 32)
		if err != nil || int64(size) > n-int64(len(body)) {
			return nil, nil, errChunk
		}
		start := len(body)
		body = body[:start+int(size)]
		if _, err := io.ReadFull(r, body[start:]); err != nil {
			return nil, nil, errIncomplete
		}
		if s != nil {
			given, ok := strings.CutPrefix(extension, "chunk-signature=")
			sum := sha256.Sum256(body[start:])
			want := s.sign(algorithm+"-PAYLOAD", s.last, emptySHA256, hex.EncodeToString(sum[:]))
			if !ok || !hmac.Equal([]byte(given), []byte(want)) {
				return nil, nil, errChunkSignature
			}
			s.last = want
		}
		if size == 0 {
			break
		}
		if line, ok := readLine(r); !ok || line != "" {
			return nil, nil, errChunk
		}
	}
	if int64(len(body)) != n {
		return nil, nil, errIncomplete
	}
	trailer, f = readTrailer(r, s, wantTrailer)
	return body, trailer, f
}

// readTrailer reads to the end of the body.
func readTrailer(r *bufio.Reader, s *signer, want bool) (http.Header, *failure) {
	trailer := http.Header{}
	var text strings.Builder
	given := ""
	for lines := 0; ; lines++ {
		if _, err := r.Peek(1); err == io.EOF {
			break
		}
		line, ok := readLine(r)
		if !ok || lines > 32 {
			return nil, errChunk
		}
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !want {
			return nil, errChunk
		}
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if name == "x-amz-trailer-signature" {
			given = value
			continue
		}
		trailer.Set(name, value)
		text.WriteString(name + ":" + value + "\n")
	}
	if s != nil && want {
		sum := sha256.Sum256([]byte(text.String()))
		if !hmac.Equal([]byte(given), []byte(s.sign(algorithm+"-TRAILER", s.last, hex.EncodeToString(sum[:])))) {
			return nil, errChunkSignature
		}
	}
	return trailer, nil
}

// readLine reads a line, without its end.
func readLine(r *bufio.Reader) (string, bool) {
	var line []byte
	for len(line) <= maxLine {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			return strings.TrimRight(string(line), "\r\n"), true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", false
		}
	}
	return "", false
}

// emptySHA256 is the SHA-256 of nothing.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
