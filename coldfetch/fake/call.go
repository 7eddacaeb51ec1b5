package fake

import (
	"context"
	"encoding/xml"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"latlab.example/common/emu"
)

// call is one request and its answer.
type call struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	id     string
	op     string
	bucket string
	key    string
	query  url.Values
	signer *signer
	fault  *emu.Fault // of this call, if it has one
	fresh  bool       // the connection's first
}

// ServeHTTP answers one request. Several may be answered at once.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{s: s, w: w, r: r, id: s.requestID(), fresh: firstOf(r.Context())}
	w.Header().Set("X-Amz-Request-Id", c.id)
	w.Header().Set("Server", "latlab-fake-s3")
	var f *failure
	if c.signer, f = s.authenticate(r); f == nil {
		var serve func() *failure
		if serve, f = c.route(); f == nil {
			s.use.count(c.op)
			f = c.serve(serve)
		}
	}
	if f != nil {
		c.fail(f)
	}
}

// serve acts on the call's fault, if that comes first.
func (c *call) serve(serve func() *failure) *failure {
	if c.op != opBucket {
		if fault, ok := c.s.cfg.Faults.Next(c.op); ok {
			c.fault = &fault
		}
	}
	if c.fault != nil && c.op != opGet {
		switch c.fault.Kind {
		case emu.Reset, emu.Short:
			c.breakUp(true)
		}
	}
	if c.fault != nil && c.fault.Kind == emu.Error {
		if f := c.wait(0); f != nil {
			return f
		}
		return errSlowDown
	}
	return serve()
}

// allowed are the parameters of a query that mean no other operation.
var allowed = map[string]bool{
	"list-type": true, "prefix": true, "delimiter": true, "start-after": true, "max-keys": true, "encoding-type": true,
	"continuation-token": true, "fetch-owner": true, "uploads": true, "uploadId": true, "partNumber": true,
	"location": true, "delete": true, "x-id": true, "metadata": true,
}

// route says what the request asks for.
func (c *call) route() (func() *failure, *failure) {
	var err error
	if c.query, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return nil, fail(http.StatusBadRequest, "InvalidRequest", "The query can't be read.")
	}
	c.bucket, c.key = c.s.address(c.r)
	if len(c.key) > 1024 {
		return nil, errKeyTooLong
	}
	for name := range c.query {
		if !allowed[name] {
			return nil, notImplemented("query parameter " + name)
		}
	}
	if c.r.Header.Get("X-Amz-Copy-Source") != "" {
		return nil, notImplemented("copies")
	}
	type route struct {
		op    string
		serve func() *failure
	}
	has := c.query.Has
	var to route
	switch c.r.Method + where(c.bucket, c.key) {
	case "GET service":
		to = route{opBucket, c.listBuckets}
	case "GET bucket":
		switch {
		case has("location"):
			to = route{opBucket, c.location}
		case !has("uploads"):
			to = route{opList, func() *failure { return c.after(c.list) }}
		}
	case "HEAD bucket":
		to = route{opBucket, c.headBucket}
	case "PUT bucket":
		to = route{opBucket, c.makeBucket}
	case "DELETE bucket":
		to = route{opBucket, c.removeBucket}
	case "POST bucket":
		if has("delete") {
			to = route{opDelete, c.deleteMany}
		}
	case "GET object":
		if !has("uploadId") && !has("partNumber") {
			to = route{opGet, c.get}
		}
	case "HEAD object":
		if !has("partNumber") {
			to = route{opHead, c.get}
		}
	case "PUT object":
		if has("uploadId") {
			to = route{opPart, c.putPart}
		} else {
			to = route{opPut, c.put}
		}
	case "DELETE object":
		if has("uploadId") {
			to = route{opAbort, c.abortUpload}
		} else {
			to = route{opDelete, c.delete}
		}
	case "POST object":
		if has("uploads") {
			to = route{opCreate, c.createUpload}
		} else if has("uploadId") {
			to = route{opComplete, c.completeUpload}
		}
	}
	if to.serve == nil {
		return nil, notImplemented(c.r.Method + " " + c.r.URL.RawQuery)
	}
	c.op = to.op
	return to.serve, nil
}

func where(bucket, key string) string {
	switch {
	case bucket == "":
		return " service"
	case key == "":
		return " bucket"
	}
	return " object"
}

// address splits a request's address into bucket and key. The key is what follows
// the slash, byte for byte.
func (s *Server) address(r *http.Request) (bucket, key string) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if bucket, ok := strings.CutSuffix(strings.ToLower(host), "."+s.cfg.Domain); ok {
		return bucket, path
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

// wait passes the time to the answer's first byte; up is how long a body came
// with the request.
func (c *call) wait(up int) *failure {
	p := c.s.pacer
	d := p.delay(c.op, c.bucket+"/"+c.key, c.fresh)
	if c.fault != nil {
		d += c.fault.Delay
	}
	if d > 0 {
		if p.until(c.r.Context(), p.waiter.Now().Add(d)) != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
	}
	if up > 0 && p.limited() {
		t := p.begin()
		defer t.end()
		for ; up > 0; up -= piece {
			if t.pass(c.r.Context(), min(piece, up)) != nil {
				panic(http.ErrAbortHandler)
			}
		}
	}
	return nil
}

// after serves once the first byte is due.
func (c *call) after(serve func() *failure) *failure {
	if f := c.wait(0); f != nil {
		return f
	}
	c.lose()
	return serve()
}

// lose breaks the connection instead of an answer, if that is the call's fault:
// what was asked for is done.
func (c *call) lose() {
	if c.fault != nil && c.fault.Kind == emu.Torn && c.op != opGet {
		c.breakUp(true)
	}
}

// breakUp ends the connection within the answer, by a reset or as if all were well.
func (c *call) breakUp(reset bool) {
	if tcp, ok := c.r.Context().Value(connKey{}).(*conn); ok && reset {
		if t, ok := tcp.Conn.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // a reset, no orderly end
		}
	}
	panic(http.ErrAbortHandler)
}

func (c *call) delete() *failure {
	return c.after(func() *failure {
		if f := c.s.store.remove(c.bucket, c.key); f != nil {
			return f
		}
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

func (c *call) listBuckets() *failure {
	type entry struct{ Name, CreationDate string }
	var res struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListAllMyBucketsResult"`
		Owner   struct{ ID, DisplayName string }
		Buckets struct{ Bucket []entry }
	}
	res.Owner.ID, res.Owner.DisplayName = c.s.cfg.AccessKey, c.s.cfg.AccessKey
	for name, made := range c.s.store.bucketList() {
		res.Buckets.Bucket = append(res.Buckets.Bucket, entry{name, made.Format(time.RFC3339)})
	}
	c.xml(http.StatusOK, res)
	return nil
}

func (c *call) location() *failure {
	if !c.s.store.hasBucket(c.bucket) {
		return errNoSuchBucket
	}
	region := c.s.cfg.Region
	if region == DefaultRegion { // which S3 writes as nothing
		region = ""
	}
	c.xml(http.StatusOK, struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ LocationConstraint"`
		Region  string   `xml:",chardata"`
	}{Region: region})
	return nil
}

func (c *call) headBucket() *failure {
	if !c.s.store.hasBucket(c.bucket) {
		return errNoSuchBucket
	}
	c.w.Header().Set("X-Amz-Bucket-Region", c.s.cfg.Region)
	c.w.WriteHeader(http.StatusOK)
	return nil
}

func (c *call) makeBucket() *failure {
	if _, _, f := c.readBody(); f != nil { // a location, which changes nothing
		return f
	}
	if !validBucket(c.bucket) {
		return fail(http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid.")
	}
	if !c.s.store.addBucket(c.bucket) {
		return fail(http.StatusConflict, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.")
	}
	c.w.Header().Set("Location", "/"+c.bucket)
	c.w.WriteHeader(http.StatusOK)
	return nil
}

func (c *call) removeBucket() *failure {
	if f := c.s.store.removeBucket(c.bucket); f != nil {
		return f
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

type connKey struct{}

// firstOf says whether the request is its connection's first, and that there was one.
func firstOf(ctx context.Context) bool {
	c, ok := ctx.Value(connKey{}).(*conn)
	return ok && !c.used.Swap(true)
}
