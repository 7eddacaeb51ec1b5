package fake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	dateForm  = "20060102T150405Z"
	maxSkew   = 15 * time.Minute

	unsignedPayload = "UNSIGNED-PAYLOAD"
	signedChunks    = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	signedTrailer   = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
	unsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

// authorization is a parsed Authorization header of signature version 4.
type authorization struct {
	accessKey, date, region, service string
	signed                           []string // names of headers
	signature                        string
}

// scope is the part of the credential that the signing key depends on.
func (a authorization) scope() string {
	return a.date + "/" + a.region + "/" + a.service + "/aws4_request"
}

// parseAuthorization reads a header such as
//
//	AWS4-HMAC-SHA256 Credential=KEY/20060102/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=0123...
func parseAuthorization(header string) (a authorization, ok bool) {
	rest, ok := strings.CutPrefix(header, algorithm+" ")
	if !ok {
		return a, false
	}
	seen := 0
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			// An access key may hold slashes; the scope is the last four parts.
			f := strings.Split(value, "/")
			n := len(f) - 4
			if n < 1 || f[n+3] != "aws4_request" {
				return a, false
			}
			a.accessKey, a.date, a.region, a.service = strings.Join(f[:n], "/"), f[n], f[n+1], f[n+2]
		case "SignedHeaders":
			a.signed = strings.Split(value, ";")
		case "Signature":
			if raw, err := hex.DecodeString(value); err != nil || len(raw) != sha256.Size {
				return a, false
			}
			a.signature = value
		default:
			return a, false
		}
		seen++
	}
	return a, seen == 3 && a.accessKey != "" && a.signature != "" && slices.Contains(a.signed, "host")
}

// signer signs what belongs to one request: its chunks and trailer too.
type signer struct {
	key         []byte
	date, scope string
	last        string // the signature before
}

func (s *signer) sign(kind string, parts ...string) string {
	text := kind + "\n" + s.date + "\n" + s.scope + "\n" + strings.Join(parts, "\n")
	return hex.EncodeToString(mac(s.key, text))
}

// authenticate checks a request's signature. The signer is for its chunks.
func (s *Server) authenticate(r *http.Request) (*signer, *failure) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return nil, fail(http.StatusForbidden, "AccessDenied", "The request isn't signed: a signature of version 4 goes into the Authorization header.")
	}
	a, ok := parseAuthorization(header)
	if !ok || a.service != "s3" {
		return nil, fail(http.StatusBadRequest, "AuthorizationHeaderMalformed", "The authorization header isn't one of signature version 4 for s3.")
	}
	if a.accessKey != s.cfg.AccessKey {
		return nil, fail(http.StatusForbidden, "InvalidAccessKeyId", "The access key you provided does not exist in our records.")
	}
	if a.region != s.cfg.Region {
		return nil, fail(http.StatusBadRequest, "AuthorizationHeaderMalformed", "The region '"+a.region+"' is wrong; expecting '"+s.cfg.Region+"'.")
	}
	date := r.Header.Get("X-Amz-Date")
	at, err := time.Parse(dateForm, date)
	if err != nil || at.Format("20060102") != a.date {
		return nil, fail(http.StatusForbidden, "AccessDenied", "X-Amz-Date must be given, as 20060102T150405Z, on the day of the credential.")
	}
	if skew := time.Since(at); skew > maxSkew || skew < -maxSkew {
		return nil, fail(http.StatusForbidden, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
	}
	for name := range r.Header {
		if low := strings.ToLower(name); strings.HasPrefix(low, "x-amz-") && !slices.Contains(a.signed, low) {
			return nil, fail(http.StatusForbidden, "AccessDenied", "There were headers present in the request which were not signed: "+low)
		}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "InvalidRequest", "The query can't be read.")
	}
	sum := sha256.Sum256([]byte(canonical(r, query, a.signed)))
	sig := &signer{key: s.signingKey(a), date: date, scope: a.scope()}
	sig.last = sig.sign(algorithm, hex.EncodeToString(sum[:]))
	if !hmac.Equal([]byte(sig.last), []byte(a.signature)) {
		return nil, fail(http.StatusForbidden, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.")
	}
	return sig, nil
}

// canonical is the request as it is signed.
func canonical(r *http.Request, query url.Values, signed []string) string {
	var b strings.Builder
	b.WriteString(r.Method)
	b.WriteByte('\n')
	b.WriteString(encodePath(r.URL.Path))
	b.WriteByte('\n')
	b.WriteString(canonicalQuery(query))
	b.WriteByte('\n')
	for _, name := range signed {
		b.WriteString(name)
		b.WriteByte(':')
		switch name {
		case "host":
			b.WriteString(r.Host)
		case "content-length":
			b.WriteString(strconv.FormatInt(r.ContentLength, 10))
		default:
			for i, v := range r.Header.Values(name) {
				if i > 0 {
					b.WriteByte(',')
				}
				b.WriteString(strings.Join(strings.Fields(v), " "))
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	b.WriteString(strings.Join(signed, ";"))
	b.WriteByte('\n')
	b.WriteString(r.Header.Get("X-Amz-Content-Sha256"))
	return b.String()
}

func canonicalQuery(query url.Values) string {
	var pairs []string
	for name, values := range query {
		for _, v := range values {
			pairs = append(pairs, encode(name, false)+"="+encode(v, false))
		}
	}
	sort.Strings(pairs)
	return strings.Join(pairs, "&")
}

func encodePath(path string) string {
	if path == "" {
		return "/"
	}
	return encode(path, true)
}

// encode writes all but the unreserved characters of RFC 3986 with a percent sign.
func encode(s string, slash bool) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '_', c == '.', c == '~', c == '/' && slash:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func (s *Server) signingKey(a authorization) []byte {
	key := []byte("AWS4" + s.cfg.SecretKey)
	for _, part := range []string{a.date, a.region, a.service, "aws4_request"} {
		key = mac(key, part)
	}
	return key
}
