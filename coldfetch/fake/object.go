package fake

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"latlab.example/common/emu"
)

// metaOf are the headers of a write that are kept and served with the object.
func metaOf(h http.Header) http.Header {
	kept := http.Header{}
	for name, values := range h {
		switch {
		case strings.HasPrefix(name, "X-Amz-Meta-"), name == "Content-Type", name == "Cache-Control",
			name == "Content-Disposition", name == "Content-Language", name == "Expires":
			kept[name] = values
		case name == "Content-Encoding":
			var left []string
			for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
				if part = strings.TrimSpace(part); part != "" && part != "aws-chunked" { // the framing of the request
					left = append(left, part)
				}
			}
			if len(left) > 0 {
				kept.Set(name, strings.Join(left, ","))
			}
		}
	}
	return kept
}

func (c *call) newObject() (*object, *failure) {
	body, trailer, f := c.readBody()
	if f != nil {
		return nil, f
	}
	kept, f := checkSums(body, c.r.Header, trailer)
	if f != nil {
		return nil, f
	}
	return &object{body: body, etag: etagOf(body), mod: now(), meta: metaOf(c.r.Header), sum: kept}, nil
}

func (c *call) put() *failure {
	o, f := c.newObject()
	if f != nil {
		return f
	}
	if f := c.wait(len(o.body)); f != nil {
		return f
	}
	if f := c.s.store.put(c.bucket, c.key, o, c.r.Header); f != nil {
		return f
	}
	c.written(o)
	return nil
}

// written answers that o was written.
func (c *call) written(o *object) {
	c.lose()
	h := c.w.Header()
	h.Set("ETag", o.etag)
	h.Set(sumHeader+o.sum.kind, o.sum.value)
	h.Set("X-Amz-Checksum-Type", sumType(o))
	c.w.WriteHeader(http.StatusOK)
}

func sumType(o *object) string {
	if o.composite {
		return "COMPOSITE"
	}
	return "FULL_OBJECT"
}

// get answers a GET and a HEAD.
func (c *call) get() *failure {
	o, f := c.s.store.get(c.bucket, c.key)
	if f == nil {
		f = preconditions(c.r.Header, o)
	}
	from, to, part := 0, 0, false
	if f == nil {
		from, to, part, f = parseRange(c.r.Header.Get("Range"), len(o.body))
	}
	if f == nil {
		if _, hit := c.s.cfg.Faults.Next(faultReplace); hit {
			c.s.store.replace(c.bucket, c.key, o)
		}
	}
	if w := c.wait(0); w != nil {
		return w
	}
	if f != nil {
		if f == errRange {
			c.w.Header().Set("Content-Range", "bytes */"+strconv.Itoa(len(o.body)))
		}
		return f
	}
	h := c.w.Header()
	for name, values := range o.meta {
		h[name] = values
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "binary/octet-stream")
	}
	h.Set("ETag", o.etag)
	h.Set("Last-Modified", o.mod.Format(http.TimeFormat))
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Length", strconv.Itoa(to-from))
	if strings.EqualFold(c.r.Header.Get("X-Amz-Checksum-Mode"), "ENABLED") && !part {
		h.Set(sumHeader+o.sum.kind, o.sum.value)
		h.Set("X-Amz-Checksum-Type", sumType(o))
	}
	status := http.StatusOK
	if part {
		status = http.StatusPartialContent
		h.Set("Content-Range", "bytes "+strconv.Itoa(from)+"-"+strconv.Itoa(to-1)+"/"+strconv.Itoa(len(o.body)))
	}
	if c.r.Method == http.MethodHead {
		c.lose()
		c.w.WriteHeader(status)
		return nil
	}
	c.send(status, o.body[from:to])
	return nil
}

// send sends a body, as the faults of this call allow.
func (c *call) send(status int, body []byte) {
	at := len(body) / 2
	if c.s.cfg.FaultAt > 0 {
		at = int(min(c.s.cfg.FaultAt, int64(len(body))))
	}
	_, flip := c.s.cfg.Faults.Next(faultFlip)
	_, noLength := c.s.cfg.Faults.Next(faultNoLength)
	if flip && len(body) > 0 {
		body = append([]byte(nil), body...) // the object stays as it is
		body[min(at, len(body)-1)] ^= 0x10
	}
	kind, cut := emu.FaultKind(0), false
	if c.fault != nil {
		kind = c.fault.Kind
		cut = kind == emu.Reset || kind == emu.Short || kind == emu.Torn
	}
	if cut {
		body = body[:at]
	}
	if noLength || cut && kind == emu.Torn {
		c.w.Header().Del("Content-Length")
		c.w.Header().Set("Transfer-Encoding", "identity") // net/http then ends the body by closing the connection
	}
	c.w.WriteHeader(status)
	if c.stream(body) != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	if cut && kind != emu.Torn {
		_ = http.NewResponseController(c.w).Flush()
		c.breakUp(kind == emu.Reset)
	}
}

// stream sends bytes at the profile's pace.
func (c *call) stream(body []byte) error {
	p := c.s.pacer
	defer func() { c.s.use.bytes.Add(int64(len(body))) }()
	if !p.limited() {
		_, err := c.w.Write(body)
		return err
	}
	if err := http.NewResponseController(c.w).Flush(); err != nil { // the first byte
		return err
	}
	t := p.begin()
	defer t.end()
	for rest := body; len(rest) > 0; {
		n := min(piece, len(rest))
		if err := t.pass(c.r.Context(), n); err != nil {
			return err
		}
		if _, err := c.w.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// preconditions are those of RFC 9110, in its order.
func preconditions(h http.Header, o *object) *failure {
	if want := h.Get("If-Match"); want != "" {
		if !matches(want, o.etag) {
			return errPrecondition
		}
	} else if t, err := time.Parse(http.TimeFormat, h.Get("If-Unmodified-Since")); err == nil && o.mod.After(t) {
		return errPrecondition
	}
	if none := h.Get("If-None-Match"); none != "" {
		if matches(none, o.etag) {
			return errNotModified
		}
	} else if t, err := time.Parse(http.TimeFormat, h.Get("If-Modified-Since")); err == nil && !o.mod.After(t) {
		return errNotModified
	}
	return nil
}

// matches says whether an ETag is in a list of them. S3 takes them without quotes too.
func matches(list, etag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.Trim(one, `"`) == strings.Trim(etag, `"`) {
			return true
		}
	}
	return false
}

// parseRange reads a Range header for a body of size bytes. Whatever isn't one
// range of bytes counts as no range, as S3 has it.
func parseRange(header string, size int) (from, to int, part bool, f *failure) {
	spec, ok := strings.CutPrefix(header, "bytes=")
	first, last, dash := strings.Cut(spec, "-")
	if !ok || !dash || strings.Contains(spec, ",") {
		return 0, size, false, nil
	}
	if first == "" { // the last so many
		n, err := strconv.ParseUint(last, 10, 62)
		if err != nil {
			return 0, size, false, nil
		}
		if n == 0 || size == 0 {
			return 0, 0, false, errRange
		}
		return size - int(min(n, uint64(size))), size, true, nil
	}
	a, err := strconv.ParseUint(first, 10, 62)
	if err != nil {
		return 0, size, false, nil
	}
	b := uint64(size)
	if last != "" {
		l, err := strconv.ParseUint(last, 10, 62)
		if err != nil || l < a {
			return 0, size, false, nil
		}
		b = min(l+1, b)
	}
	if a >= uint64(size) {
		return 0, 0, false, errRange
	}
	return int(a), int(b), true, nil
}
