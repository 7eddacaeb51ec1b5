package fake

import (
	"encoding/xml"
	"net/http"
	"strconv"
)

// failure is an error as S3 has them. It is an answer, not a Go error.
type failure struct {
	status  int
	code    string
	message string
}

func fail(status int, code, message string) *failure { return &failure{status, code, message} }

func notImplemented(what string) *failure {
	return fail(http.StatusNotImplemented, "NotImplemented", "This fake doesn't know "+what+".")
}

var (
	errNoSuchBucket = fail(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist.")
	errNoSuchKey    = fail(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	errNoSuchUpload = fail(http.StatusNotFound, "NoSuchUpload", "The specified upload does not exist, or it was completed or aborted.")
	errPrecondition = fail(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
	errNotModified  = fail(http.StatusNotModified, "NotModified", "Not modified.")
	errRange        = fail(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable.")
	errSlowDown     = fail(http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
	errBadDigest    = fail(http.StatusBadRequest, "BadDigest", "The Content-MD5 or checksum you specified did not match what we received.")
	errDigestForm   = fail(http.StatusBadRequest, "InvalidDigest", "The Content-MD5 or checksum you specified is not valid.")
	errIncomplete   = fail(http.StatusBadRequest, "IncompleteBody", "You did not provide the number of bytes specified by the length headers.")
	errMalformedXML = fail(http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed.")
	errNoLength     = fail(http.StatusLengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header.")
	errTooLarge     = fail(http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size.")
	errKeyTooLong   = fail(http.StatusBadRequest, "KeyTooLongError", "Your key is too long: 1024 bytes at most.")
)

// fail answers with an error.
func (c *call) fail(f *failure) {
	if f.status == http.StatusNotModified || c.r.Method == http.MethodHead {
		c.w.WriteHeader(f.status)
		return
	}
	c.xml(f.status, struct {
		XMLName   xml.Name `xml:"Error"`
		Code      string
		Message   string
		Resource  string
		Region    string `xml:",omitempty"`
		RequestID string `xml:"RequestId"`
	}{Code: f.code, Message: f.message, Resource: c.r.URL.Path, Region: c.s.cfg.Region, RequestID: c.id})
}

// xml answers with a document.
func (c *call) xml(status int, v any) {
	body, err := xml.Marshal(v)
	if err != nil { // no type here can't be written
		panic(err)
	}
	body = append([]byte(xml.Header), body...)
	h := c.w.Header()
	h.Set("Content-Type", "application/xml")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // the client is gone: nobody to tell
}
