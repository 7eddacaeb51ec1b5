package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"latlab.example/common/bubble"
)

// testCase is a thing to ask. Its answer is a summary, which must be the same of
// every client and target.
type testCase struct {
	name  string
	run   func(*env) (string, error)
	known map[string]string // kind of target: how it is known to differ
	alter func(*target)     // the account to ask with
	// stopped runs the client with its clock at the start of the year 2000.
	stopped bool
}

// env is what a case runs in: a client, and keys of its own.
type env struct {
	context.Context
	s3client
	prefix string
}

// on runs the case, and removes what it left.
func (cs testCase) on(ctx context.Context, t *target, c maker) (a answer) {
	asked := *t
	if cs.alter != nil {
		cs.alter(&asked)
	}
	run := func(ctx context.Context) error {
		tr := asked.transport()
		defer tr.CloseIdleConnections()
		client, err := c.make(&asked, tr)
		if err != nil {
			return err
		}
		e := &env{ctx, client, t.prefix + strings.ReplaceAll(cs.name, " ", "-") + "/" + c.name + "/"}
		a.text, err = cs.run(e)
		return err
	}
	if cs.stopped {
		a.err = bubble.Run(ctx, run)
	} else {
		a.err = run(ctx)
	}
	return a
}

var cases = []testCase{
	{name: "put, head and get", run: putGet},
	{name: "ranges", run: ranges},
	{name: "keys byte by byte", run: keysByByte},
	{name: "keys with empty parts and dots", run: keysWithDots, known: map[string]string{
		"real": "objects are files, so `p//q` is `p/q` and `p/../q` is `q`",
	}},
	{name: "list of 2500", run: listMany},
	{name: "folders", run: folders},
	{name: "multipart", run: multipart},
	{name: "delete", run: deletes},
	{name: "checksum kept and served", run: checksum},
	{name: "If-Match", run: ifMatch},
	{name: "If-None-Match on put", run: ifNoneMatch},
	{name: "wrong secret", run: refused("SignatureDoesNotMatch"), alter: func(t *target) { t.SecretKey += "x" }},
	{name: "wrong access key", run: refused("InvalidAccessKeyId"), alter: func(t *target) { t.AccessKey += "x" }},
	{name: "clock 26 years late", run: late, stopped: true},
	{name: "no such bucket", run: refused("NoSuchBucket"), alter: func(t *target) { t.bucket = "latlab-no-such-bucket" }},
}

// content is a body of n bytes, the same each time.
func content(n int, seed uint64) []byte {
	r := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(make([]byte, 24), seed)))
	b := make([]byte, n)
	_, _ = r.Read(b) // never fails
	return b
}

func etag(b []byte) string {
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

// stored puts an object and gets it back.
func (e *env) stored(key string, body []byte) error {
	tag, err := e.put(e, key, body, false, false)
	if err != nil {
		return fmt.Errorf("put %q: %w", key, err)
	}
	g, err := e.get(e, key, "", "")
	if err != nil {
		return fmt.Errorf("get %q: %w", key, err)
	}
	if !bytes.Equal(g.body, body) || g.size != int64(len(body)) {
		return fmt.Errorf("get %q: %d bytes (size %d), other than the %d that were put", key, len(g.body), g.size, len(body))
	}
	if want := etag(body); tag != want || g.etag != want {
		return fmt.Errorf("%q: ETags %s and %s, want %s", key, tag, g.etag, want)
	}
	return nil
}

// fails wants an error with one of the codes, and returns it.
func (e *env) fails(err error, codes ...string) (string, error) {
	if err == nil {
		return "", fmt.Errorf("no error, want %s", codes[0])
	}
	got := e.code(err)
	if !slices.Contains(codes, got) {
		return "", fmt.Errorf("%s (%w), want %s", got, err, codes[0])
	}
	return codes[0], nil
}

func putGet(e *env) (string, error) {
	sizes := []int{0, 1, 60 << 10, 1<<20 + 7}
	for _, n := range sizes {
		key := fmt.Sprintf("%s%d", e.prefix, n)
		body := content(n, 1)
		if err := e.stored(key, body); err != nil {
			return "", err
		}
		h, err := e.head(e, key)
		if err != nil || h.size != int64(n) || h.etag != etag(body) {
			return "", fmt.Errorf("head: %+v, %w", h, err)
		}
		if err := e.remove(e, key); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d sizes", len(sizes)), nil
}

func ranges(e *env) (string, error) {
	body, key := content(1000, 2), e.prefix+"r"
	if err := e.stored(key, body); err != nil {
		return "", err
	}
	for _, r := range []struct {
		text     string
		from, to int
	}{{"bytes=0-0", 0, 1}, {"bytes=10-19", 10, 20}, {"bytes=990-", 990, 1000}, {"bytes=-5", 995, 1000}, {"bytes=900-5000", 900, 1000}} {
		g, err := e.get(e, key, r.text, "")
		if err != nil || !bytes.Equal(g.body, body[r.from:r.to]) {
			return "", fmt.Errorf("%s: %d bytes, %w", r.text, len(g.body), err)
		}
	}
	_, err := e.get(e, key, "bytes=1000-", "")
	code, err := e.fails(err, "InvalidRange")
	if err != nil {
		return "", err
	}
	return "5 ranges; past the end: " + code, e.remove(e, key)
}

const (
	nfc = "1. 연구개발계획서 양식_서울지방청"
	nfd = "1. \u110b\u1167\u11ab\u1100\u116e개발계획서 양식_서울지방청"
)

func keysByByte(e *env) (string, error) {
	names := []string{
		nfc, nfd, "a b", "a+b", "a%20b", "a%2Bb", "a#b", "a?b", "a&b=c", "a;b", "a:b", "a@b", "a'b\"c", "a*b", "a~b", "(a)[b]{c}",
		"a..b", "..a", "a\\b", "a,b", "A", "a", "é", "e\u0301", "\U0001F4C4",
	}
	slices.Sort(names)
	return e.distinct(names)
}

func keysWithDots(e *env) (string, error) {
	return e.distinct([]string{"p", "p//q", "p/../q", "p/./q", "p/q", "q", "q/"})
}

// distinct stores each name with a body of its own, and finds all of them.
func (e *env) distinct(names []string) (string, error) {
	for i, n := range names {
		if err := e.stored(e.prefix+n, content(100+i, uint64(i))); err != nil {
			return "", err
		}
	}
	for i, n := range names {
		g, err := e.get(e, e.prefix+n, "", "")
		if err != nil || !bytes.Equal(g.body, content(100+i, uint64(i))) {
			return "", fmt.Errorf("%q has another's body, %w", n, err)
		}
	}
	listed, _, err := e.list(e, e.prefix, "", 1000)
	if err != nil {
		return "", err
	}
	for i := range listed {
		listed[i] = strings.TrimPrefix(listed[i], e.prefix)
	}
	slices.Sort(names)
	if !slices.Equal(listed, names) {
		return "", fmt.Errorf("listed %q, want %q", listed, names)
	}
	for _, n := range names {
		if err := e.remove(e, e.prefix+n); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d keys", len(names)), nil
}

func listMany(e *env) (string, error) {
	const n = 2500
	var g errgroup.Group
	g.SetLimit(8)
	var want []string
	for i := range n {
		key := fmt.Sprintf("%s%04d %s", e.prefix, i, []string{nfc, nfd}[i%2])
		want = append(want, key)
		g.Go(func() error { _, err := e.put(e, key, []byte("x"), false, false); return err })
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	for _, page := range []int{1000, 7 * 100} {
		keys, _, err := e.list(e, e.prefix, "", page)
		if err != nil {
			return "", err
		}
		if !slices.Equal(keys, want) {
			return "", fmt.Errorf("pages of %d: %d keys, or not in the order of their bytes", page, len(keys))
		}
	}
	part, _, err := e.list(e, e.prefix+"12", "", 1000)
	if err != nil || len(part) != 100 {
		return "", fmt.Errorf("under a prefix: %d keys, %w", len(part), err)
	}
	var mu sync.Mutex
	var all error
	for _, key := range want {
		g.Go(func() error {
			if err := e.remove(e, key); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = errors.Join(all, err)
			}
			return nil
		})
	}
	_ = g.Wait() // all has them
	return fmt.Sprintf("%d keys in order, in pages of 1000 and of 700", n), all
}

func folders(e *env) (string, error) {
	names := []string{"a/1", "a/2", "b", "c/d/1", "e"}
	for _, n := range names {
		if _, err := e.put(e, e.prefix+n, []byte(n), false, false); err != nil {
			return "", err
		}
	}
	for _, page := range []int{1000, 1} {
		keys, prefixes, err := e.list(e, e.prefix, "/", page)
		if err != nil {
			return "", err
		}
		if !slices.Equal(keys, []string{e.prefix + "b", e.prefix + "e"}) || !slices.Equal(prefixes, []string{e.prefix + "a/", e.prefix + "c/"}) {
			return "", fmt.Errorf("pages of %d: keys %q, prefixes %q", page, keys, prefixes)
		}
	}
	for _, n := range names {
		if err := e.remove(e, e.prefix+n); err != nil {
			return "", err
		}
	}
	return "2 keys, 2 prefixes, in one page and in 4", nil
}

func multipart(e *env) (string, error) {
	parts := [][]byte{content(5<<20, 3), content(5<<20+1, 4), content(999, 5)}
	key := e.prefix + nfc
	tag, err := e.multipart(e, key, false, parts...)
	if err != nil {
		return "", err
	}
	g, err := e.get(e, key, "", "")
	if err != nil || !bytes.Equal(g.body, slices.Concat(parts...)) {
		return "", fmt.Errorf("%d bytes, %w", len(g.body), err)
	}
	var sums []byte
	for _, p := range parts {
		s := md5.Sum(p)
		sums = append(sums, s[:]...)
	}
	if want := etag(sums) + "-3"; tag != want || g.etag != want {
		return "", fmt.Errorf("ETags %s and %s, want %s", tag, g.etag, want)
	}
	if err := e.remove(e, key); err != nil {
		return "", err
	}
	_, err = e.multipart(e, key, true, parts[2])
	code, err := e.fails(err, "NoSuchUpload")
	if err != nil {
		return "", fmt.Errorf("complete after abort: %w", err)
	}
	_, small := e.multipart(e, key, false, parts[2], parts[2])
	tooSmall, err := e.fails(small, "EntityTooSmall")
	return "3 parts; aborted: " + code + "; small: " + tooSmall, err
}

func deletes(e *env) (string, error) {
	key := e.prefix + nfd
	if err := e.stored(key, []byte("x")); err != nil {
		return "", err
	}
	for range 2 { // what isn't there is deleted all the same
		if err := e.remove(e, key); err != nil {
			return "", err
		}
	}
	_, err := e.get(e, key, "", "")
	return e.fails(err, "NoSuchKey")
}

func checksum(e *env) (string, error) {
	key, body := e.prefix+"sum", []byte("123456789")
	const want = "4waSgw==" // CRC-32C's check value, E3069283
	if _, err := e.put(e, key, body, true, false); err != nil {
		return "", err
	}
	g, err := e.get(e, key, "", "")
	if err != nil || g.sum != want {
		return "", fmt.Errorf("get: %q, %w", g.sum, err)
	}
	h, err := e.head(e, key)
	if err != nil || h.sum != want {
		return "", fmt.Errorf("head: %q, %w", h.sum, err)
	}
	return "CRC-32C " + want, e.remove(e, key)
}

func ifMatch(e *env) (string, error) {
	key, body := e.prefix+"m", content(100, 6)
	if err := e.stored(key, body); err != nil {
		return "", err
	}
	g, err := e.get(e, key, "bytes=50-", etag(body))
	if err != nil || !bytes.Equal(g.body, body[50:]) {
		return "", fmt.Errorf("right ETag: %d bytes, %w", len(g.body), err)
	}
	_, err = e.get(e, key, "bytes=50-", etag(nil))
	code, err := e.fails(err, "PreconditionFailed")
	return code, errors.Join(err, e.remove(e, key))
}

func ifNoneMatch(e *env) (string, error) {
	key := e.prefix + "n"
	if _, err := e.put(e, key, []byte("1"), false, true); err != nil {
		return "", err
	}
	_, err := e.put(e, key, []byte("2"), false, true)
	code, err := e.fails(err, "PreconditionFailed")
	return code, errors.Join(err, e.remove(e, key))
}

// refused wants every operation to be refused.
func refused(code string) func(*env) (string, error) {
	return func(e *env) (string, error) {
		_, getErr := e.get(e, e.prefix+"x", "", "")
		_, putErr := e.put(e, e.prefix+"x", []byte("x"), false, false)
		_, _, listErr := e.list(e, e.prefix, "", 10)
		for what, err := range map[string]error{"get": getErr, "put": putErr, "list": listErr} {
			if _, err := e.fails(err, code); err != nil {
				return "", fmt.Errorf("%s: %w", what, err)
			}
		}
		return code, nil
	}
}

// late asks once: the SDK learns the server's time from the answer, and is right
// from then on.
func late(e *env) (string, error) {
	_, err := e.get(e, e.prefix+"x", "", "")
	return e.fails(err, "RequestTimeTooSkewed")
}
