package fake

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// minPart is the least size of a part that isn't the last.
const minPart = 5 << 20

func (c *call) createUpload() *failure {
	if f := c.wait(0); f != nil {
		return f
	}
	kind := strings.ToLower(c.r.Header.Get("X-Amz-Checksum-Algorithm"))
	if _, known := sumKinds[kind]; kind != "" && !known {
		return fail(http.StatusBadRequest, "InvalidRequest", "Checksum algorithm provided is unsupported.")
	}
	whole := strings.EqualFold(c.r.Header.Get("X-Amz-Checksum-Type"), "FULL_OBJECT") || kind == "" || kind == defaultSum
	s := c.s.store
	s.mu.Lock()
	b := s.buckets[c.bucket]
	if b == nil {
		s.mu.Unlock()
		return errNoSuchBucket
	}
	id := s.id()
	b.uploads[id] = &upload{key: c.key, meta: metaOf(c.r.Header), sumKind: kind, whole: whole, parts: map[int]*object{}}
	s.mu.Unlock()
	c.lose()
	c.xml(http.StatusOK, struct {
		XMLName  xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ InitiateMultipartUploadResult"`
		Bucket   string
		Key      string
		UploadID string `xml:"UploadId"`
	}{Bucket: c.bucket, Key: c.key, UploadID: id})
	return nil
}

func (c *call) putPart() *failure {
	n, err := strconv.Atoi(c.query.Get("partNumber"))
	if err != nil || n < 1 || n > 10000 {
		return fail(http.StatusBadRequest, "InvalidArgument", "Part number must be from 1 to 10000.")
	}
	o, f := c.newObject()
	if f != nil {
		return f
	}
	if f := c.wait(len(o.body)); f != nil {
		return f
	}
	s := c.s.store
	s.mu.Lock()
	u, f := s.upload(c)
	if f == nil {
		u.parts[n] = o
	}
	s.mu.Unlock()
	if f != nil {
		return f
	}
	c.written(o)
	return nil
}

// upload finds the upload that a call names. The store is locked.
func (s *store) upload(c *call) (*upload, *failure) {
	b := s.buckets[c.bucket]
	if b == nil {
		return nil, errNoSuchBucket
	}
	u := b.uploads[c.query.Get("uploadId")]
	if u == nil || u.key != c.key {
		return nil, errNoSuchUpload
	}
	return u, nil
}

func (c *call) abortUpload() *failure {
	if f := c.wait(0); f != nil {
		return f
	}
	s := c.s.store
	s.mu.Lock()
	_, f := s.upload(c)
	if f == nil {
		delete(s.buckets[c.bucket].uploads, c.query.Get("uploadId"))
	}
	s.mu.Unlock()
	if f != nil {
		return f
	}
	c.lose()
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

type completePart struct {
	PartNumber int
	ETag       string
}

func (c *call) completeUpload() *failure {
	var asked struct{ Part []completePart }
	if f := c.readXML(&asked, nil); f != nil { // checksums in the header are the object's
		return f
	}
	if len(asked.Part) == 0 {
		return errMalformedXML
	}
	if f := c.wait(0); f != nil {
		return f
	}
	s := c.s.store
	s.mu.Lock()
	o, f := s.complete(c, asked.Part)
	s.mu.Unlock()
	if f != nil {
		return f
	}
	c.lose()
	type result struct {
		XMLName  xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUploadResult"`
		Location string
		Bucket   string
		Key      string
		ETag     string
	}
	c.xml(http.StatusOK, result{Location: "http://" + c.r.Host + c.r.URL.EscapedPath(), Bucket: c.bucket, Key: c.key, ETag: o.etag})
	return nil
}

// complete joins the parts. The store is locked.
func (s *store) complete(c *call, asked []completePart) (*object, *failure) {
	u, f := s.upload(c)
	if f != nil {
		return nil, f
	}
	var etags, sums []string
	size := 0
	for i, p := range asked {
		o := u.parts[p.PartNumber]
		switch {
		case i > 0 && p.PartNumber <= asked[i-1].PartNumber:
			return nil, fail(http.StatusBadRequest, "InvalidPartOrder", "The list of parts was not in ascending order.")
		case o == nil || !matches(p.ETag, o.etag):
			return nil, fail(http.StatusBadRequest, "InvalidPart", "A part could not be found, or its entity tag did not match.")
		case i < len(asked)-1 && len(o.body) < minPart:
			return nil, fail(http.StatusBadRequest, "EntityTooSmall", "A part that isn't the last is smaller than 5 MiB.")
		}
		etags, sums, size = append(etags, o.etag), append(sums, o.sum.value), size+len(o.body)
		if size > maxObject {
			return nil, errTooLarge
		}
	}
	body := make([]byte, 0, size)
	for _, p := range asked {
		body = append(body, u.parts[p.PartNumber].body...)
	}
	etag, err := etagOfParts(etags)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "InvalidPart", "A part's entity tag isn't one.")
	}
	o := &object{body: body, etag: etag, mod: now(), meta: u.meta}
	if u.whole {
		kind := u.sumKind
		if kind == "" {
			kind = defaultSum
		}
		o.sum = sum{kind, sumOf(kind, body)}
	} else {
		for _, p := range asked {
			if u.parts[p.PartNumber].sum.kind != u.sumKind {
				return nil, fail(http.StatusBadRequest, "InvalidPart", "A part came without the upload's checksum.")
			}
		}
		o.composite = true
		o.sum = sum{u.sumKind, compositeSum(u.sumKind, sums)}
	}
	if given := c.r.Header.Get(sumHeader + o.sum.kind); given != "" && given != o.sum.value {
		return nil, errBadDigest
	}
	if f := s.buckets[c.bucket].put(c.key, o, c.r.Header); f != nil {
		return nil, f
	}
	delete(s.buckets[c.bucket].uploads, c.query.Get("uploadId"))
	return o, nil
}

func compositeSum(kind string, sums []string) string {
	h := sumKinds[kind].Hasher()
	for _, s := range sums {
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil { // checkSums made it
			panic(err)
		}
		h.Write(raw)
	}
	return fmt.Sprintf("%s-%d", base64.StdEncoding.EncodeToString(h.Sum(nil)), len(sums))
}

func (c *call) deleteMany() *failure {
	var asked struct {
		Quiet  bool
		Object []struct{ Key string }
	}
	if f := c.readXML(&asked, c.r.Header); f != nil {
		return f
	}
	if len(asked.Object) > maxList {
		return errMalformedXML
	}
	if f := c.wait(0); f != nil {
		return f
	}
	type deleted struct{ Key string }
	var res struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ DeleteResult"`
		Deleted []deleted
	}
	keys := make([]string, len(asked.Object))
	for i, o := range asked.Object {
		keys[i] = o.Key
		if !asked.Quiet {
			res.Deleted = append(res.Deleted, deleted{o.Key})
		}
	}
	if f := c.s.store.remove(c.bucket, keys...); f != nil {
		return f
	}
	c.lose()
	c.xml(http.StatusOK, res)
	return nil
}

// readXML reads a request's document, and compares it with the checksums of h.
func (c *call) readXML(v any, h http.Header) *failure {
	body, trailer, f := c.readBody()
	if f != nil {
		return f
	}
	if _, f := checkSums(body, h, trailer); f != nil {
		return f
	}
	d := xml.NewDecoder(strings.NewReader(string(body)))
	if err := d.Decode(v); err != nil {
		return errMalformedXML
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errMalformedXML
	}
	return nil
}
