package fake_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"
	"go.uber.org/goleak"

	"latlab.example/coldfetch/fake"
	"latlab.example/common/bubble"
	"latlab.example/common/emu"
	"latlab.example/common/emu/sleepcheck"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const bucket = "docs"

func TestNoSleep(t *testing.T) {
	found, err := sleepcheck.Find(".")
	if err != nil || len(found) > 0 {
		t.Errorf("a fake waits with its waiter alone: %v, %v", found, err)
	}
}

func start(t *testing.T, cfg fake.Config) (*fake.Server, string) {
	t.Helper()
	if cfg.Buckets == nil {
		cfg.Buckets = []string{bucket}
	}
	s, err := fake.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	addr, err := s.Start("")
	if err != nil {
		t.Fatal(err)
	}
	return s, addr
}

func client(t *testing.T, addr string, change func(*minio.Options)) *minio.Core {
	t.Helper()
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	o := &minio.Options{
		Creds: credentials.NewStaticV4(fake.DefaultAccessKey, fake.DefaultSecretKey, ""), Region: fake.DefaultRegion, Transport: tr, MaxRetries: 1,
	}
	if change != nil {
		change(o)
	}
	c, err := minio.NewCore(addr, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func faults(t *testing.T, text string) *emu.Schedule {
	t.Helper()
	s, err := emu.ParseFaults(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(ctx context.Context, c *minio.Core, key string) ([]byte, minio.ObjectInfo, error) {
	body, info, _, err := c.GetObject(ctx, bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, info, err
	}
	b, err := io.ReadAll(body)
	return b, info, errors.Join(err, body.Close())
}

// Bodies in signed chunks, with and without a signed trailer, arrive as they are.
// A chunk that was changed on the way is refused, as is a wrong checksum.
func TestChunks(t *testing.T) {
	s, addr := start(t, fake.Config{})
	body := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // 320 kB, five chunks
	for _, trailers := range []bool{false, true} {
		var change func(http.RoundTripper) http.RoundTripper
		c := client(t, addr, func(o *minio.Options) {
			o.TrailingHeaders = trailers
			tr := o.Transport
			o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				if change != nil {
					return change(tr).RoundTrip(r)
				}
				return tr.RoundTrip(r)
			})
		})
		put := func(key string) error {
			opts := minio.PutObjectOptions{}
			if trailers {
				opts.Checksum = minio.ChecksumSHA256
			}
			_, err := c.Client.PutObject(t.Context(), bucket, key, bytes.NewReader(body), int64(len(body)), opts)
			return err
		}
		if err := put("good"); err != nil {
			t.Fatalf("trailers %v: %v", trailers, err)
		}
		if got, info, err := read(t.Context(), c, "good"); err != nil || !bytes.Equal(got, body) || info.ETag != fmt.Sprintf("%x", md5.Sum(body)) {
			t.Errorf("trailers %v: %d bytes, %s, %v", trailers, len(got), info.ETag, err)
		}
		for _, place := range []string{"89abcdef0123456789", ";chunk-signature=", "x-amz-checksum-sha256:", "x-amz-trailer-signature:"} {
			if !trailers && strings.HasPrefix(place, "x-amz") {
				continue
			}
			change = func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					raw, err := io.ReadAll(r.Body)
					if err != nil {
						return nil, err
					}
					at := bytes.LastIndex(raw, []byte(place)) + len(place)
					if at < len(place) {
						return nil, fmt.Errorf("no %q in the body", place)
					}
					raw[at] = "10"[b2i(raw[at] == '1')]
					r.Body = io.NopCloser(bytes.NewReader(raw))
					return next.RoundTrip(r)
				})
			}
			err := put("bad")
			if code := minio.ToErrorResponse(err).Code; code != "SignatureDoesNotMatch" && code != "BadDigest" && code != "InvalidDigest" {
				t.Errorf("trailers %v, changed behind %q: %v", trailers, place, err)
			}
			change = nil
		}
		if _, _, err := read(t.Context(), c, "bad"); minio.ToErrorResponse(err).Code != "NoSuchKey" {
			t.Errorf("what was refused is there: %v", err)
		}
	}
	if u := s.Use(); u.Gets != 4 || u.Connections == 0 || u.BytesOut != int64(2*len(body)) {
		t.Errorf("%+v", u)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Requests that no client here sends: unsigned, half signed, of another operation.
func TestRawRequests(t *testing.T) {
	s, addr := start(t, fake.Config{})
	if err := s.Put(bucket, "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	ask := func(method, path string, sign bool, change func(*http.Request)) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if sign {
			r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
			r = signer.SignV4(*r, fake.DefaultAccessKey, fake.DefaultSecretKey, "", fake.DefaultRegion)
		}
		if change != nil {
			change(r)
		}
		resp, err := tr.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), "<Code>")
		code, _, _ := strings.Cut(rest, "<")
		return resp.StatusCode, code
	}
	for _, c := range []struct {
		name, method, path string
		sign               bool
		change             func(*http.Request)
		status             int
		code               string
	}{
		{"get", "GET", "/docs/a", true, nil, 200, ""},
		{"buckets", "GET", "/", true, nil, 200, ""},
		{"location", "GET", "/docs?location", true, nil, 200, ""},
		{"unsigned", "GET", "/docs/a", false, nil, 403, "AccessDenied"},
		{"garbage", "GET", "/docs/a", false, func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256 x") }, 400, "AuthorizationHeaderMalformed"},
		{"another path", "GET", "/docs/a", true, func(r *http.Request) { r.URL.Path = "/docs/b" }, 403, "SignatureDoesNotMatch"},
		{"another method", "GET", "/docs/a", true, func(r *http.Request) { r.Method = "DELETE" }, 403, "SignatureDoesNotMatch"},
		{"another query", "GET", "/docs?list-type=2", true, func(r *http.Request) { r.URL.RawQuery = "list-type=2&prefix=x" }, 403, "SignatureDoesNotMatch"},
		{"a header that isn't signed", "GET", "/docs/a", true, func(r *http.Request) { r.Header.Set("X-Amz-Checksum-Mode", "ENABLED") }, 403, "AccessDenied"},
		{"another date", "GET", "/docs/a", true, func(r *http.Request) { r.Header.Set("X-Amz-Date", "20000101T000000Z") }, 403, "AccessDenied"},
		{"ACL", "GET", "/docs/a?acl", true, nil, 501, "NotImplemented"},
		{"listing of old", "GET", "/docs", true, nil, 501, "NotImplemented"},
		{"copy", "PUT", "/docs/b", false, func(r *http.Request) {
			r.Header.Set("X-Amz-Copy-Source", "/docs/a")
			r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
			*r = *signer.SignV4(*r, fake.DefaultAccessKey, fake.DefaultSecretKey, "", fake.DefaultRegion)
		}, 501, "NotImplemented"},
		{"a long key", "GET", "/docs/" + strings.Repeat("k", 1025), true, nil, 400, "KeyTooLongError"},
		{"a bad token", "GET", "/docs?list-type=2&continuation-token=%21", true, nil, 400, "InvalidArgument"},
		{"a full bucket", "DELETE", "/docs", true, nil, 409, "BucketNotEmpty"},
		{"a bad bucket", "PUT", "/Docs", true, nil, 400, "InvalidBucketName"},
		{"a bucket that is there", "PUT", "/docs", true, nil, 409, "BucketAlreadyOwnedByYou"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, code := ask(c.method, c.path, c.sign, c.change); status != c.status || code != c.code {
				t.Errorf("%d %s, want %d %s", status, code, c.status, c.code)
			}
		})
	}
}

// Many objects go at once, and a bucket goes when it is empty.
func TestDeleteMany(t *testing.T) {
	s, addr := start(t, fake.Config{})
	c := client(t, addr, nil)
	objects := make(chan minio.ObjectInfo, 100)
	for i := range 100 {
		key := fmt.Sprintf("%d & <%d>", i, i)
		if err := s.Put(bucket, key, nil); err != nil {
			t.Fatal(err)
		}
		objects <- minio.ObjectInfo{Key: key}
	}
	close(objects)
	for e := range c.RemoveObjects(t.Context(), bucket, objects, minio.RemoveObjectsOptions{}) {
		t.Error(e)
	}
	if err := c.RemoveBucket(t.Context(), bucket); err != nil {
		t.Error(err)
	}
	if err := c.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{}); err != nil {
		t.Error(err)
	}
}

// What each kind of fault does to what is asked.
func TestFaults(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 10_000)
	for _, c := range []struct {
		faults string
		op     func(context.Context, *minio.Core) error
		fails  bool
		done   bool // a put had its effect
	}{
		{faults: "put:error@1", op: put(body), fails: true},
		{faults: "put:reset@1", op: put(body), fails: true},
		{faults: "put:torn@1", op: put(body), fails: true, done: true},
		{faults: "put:slow(1ms)@1", op: put(body), done: true},
		{faults: "get:error@1", op: get(10_000, 10_000), fails: true},
		{faults: "get:reset@1", op: get(3000, 10_000), fails: true},
		{faults: "get:short@1", op: get(3000, 10_000), fails: true},
		{faults: "get:torn@1", op: get(3000, -1)},
		{faults: "nolength:error@1", op: get(10_000, -1)},
		{faults: "flip:error@1", op: func(ctx context.Context, c *minio.Core) error {
			b, _, err := read(ctx, c, "a")
			if err == nil && (b[3000] == 'x' || len(b) != 10_000) {
				return errors.New("no bit was turned")
			}
			return err
		}},
		{faults: "replace:error@1", op: func(ctx context.Context, c *minio.Core) error {
			info, err := c.StatObject(ctx, bucket, "a", minio.StatObjectOptions{})
			if err != nil {
				return err
			}
			b, now, err := read(ctx, c, "a")
			if err == nil && (bytes.Equal(b, body) || now.ETag == info.ETag || now.Size != info.Size) {
				return errors.New("it wasn't replaced")
			}
			return err
		}},
		{faults: "list:error@1", op: list, fails: true},
		{faults: "list:torn@1", op: list, fails: true},
		{faults: "head:reset@1", op: func(ctx context.Context, c *minio.Core) error {
			_, err := c.StatObject(ctx, bucket, "a", minio.StatObjectOptions{})
			return err
		}, fails: true},
		{faults: "delete:error@1", op: func(ctx context.Context, c *minio.Core) error {
			return c.RemoveObject(ctx, bucket, "a", minio.RemoveObjectOptions{})
		}, fails: true},
	} {
		t.Run(c.faults, func(t *testing.T) {
			s, addr := start(t, fake.Config{Waiter: emu.Sleep, Faults: faults(t, c.faults), FaultAt: 3000})
			if err := s.Put(bucket, "a", body); err != nil {
				t.Fatal(err)
			}
			cl := client(t, addr, nil)
			if err := c.op(t.Context(), cl); (err != nil) != c.fails {
				t.Errorf("%v, want an error: %v", err, c.fails)
			}
			_, _, err := read(t.Context(), cl, "put")
			if there := err == nil; there != c.done {
				t.Errorf("the object that was put is there: %v (%v)", there, err)
			}
		})
	}
}

func put(body []byte) func(context.Context, *minio.Core) error {
	return func(ctx context.Context, c *minio.Core) error {
		_, err := c.Client.PutObject(ctx, bucket, "put", bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
		return err
	}
}

// get wants so many bytes, and a Content-Length.
func get(n int, length int64) func(context.Context, *minio.Core) error {
	return func(ctx context.Context, c *minio.Core) error {
		b, info, err := read(ctx, c, "a")
		if info.Key != "" && (len(b) != n || info.Size != length) {
			return errors.Join(err, fmt.Errorf("%d bytes of %d, want %d of %d", len(b), info.Size, n, length))
		}
		return err
	}
}

func list(_ context.Context, c *minio.Core) error {
	_, err := c.ListObjectsV2(bucket, "", "", "", "", 10)
	return err
}

// timesOf runs callers at once in virtual time, each on a connection of its own,
// and says how long each took for a body of that size.
func timesOf(ctx context.Context, p fake.Profile, size int, callers int, apart time.Duration) (took []time.Duration, err error) {
	took = make([]time.Duration, callers)
	err = bubble.Run(ctx, func(ctx context.Context) (err error) {
		s, err := fake.New(fake.Config{Buckets: []string{bucket}, Profile: p, Waiter: emu.Sleep})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := s.Put(bucket, "a", make([]byte, size)); err != nil {
			return err
		}
		n := bubble.NewNet(bubble.Link{})
		l, err := n.Listen("store:80")
		if err != nil {
			return err
		}
		s.Serve(l)
		tr := &http.Transport{DialContext: n.DialContext}
		defer tr.CloseIdleConnections()
		c, err := minio.NewCore("store:80", &minio.Options{
			Creds: credentials.NewStaticV4(fake.DefaultAccessKey, fake.DefaultSecretKey, ""), Region: fake.DefaultRegion, Transport: tr,
		})
		if err != nil {
			return err
		}
		errs := make([]error, callers)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * apart)
				start := time.Now()
				_, _, errs[i] = read(ctx, c, "a")
				took[i] = time.Since(start)
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	})
	return took, err
}

// A profile takes the time that it says, to the first byte and by bandwidth: of
// one connection, and shared.
func TestProfileTakesItsTime(t *testing.T) {
	p := fake.Profile{FirstByte: emu.Constant(30 * time.Millisecond), Connect: 20 * time.Millisecond, PerConnection: 50e6, Total: 100e6}
	for _, c := range []struct {
		callers int
		apart   time.Duration
		want    time.Duration
	}{
		{1, 0, 150 * time.Millisecond}, // 5 MB at 50 MB/s
		{2, 0, 150 * time.Millisecond}, // both at 50
		{4, 0, 250 * time.Millisecond}, // all at 25
		{3, time.Second, 150 * time.Millisecond},
	} {
		took, err := timesOf(t.Context(), p, 5_000_000, c.callers, c.apart)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range took {
			want := c.want
			if c.apart > 0 && i > 0 {
				want -= p.Connect // on the connection of before
			}
			// Those who begin together send their first piece each as if alone.
			if off := d - want; off < -1400*time.Microsecond || off > 10*time.Microsecond {
				t.Errorf("%d callers %v apart: %v, want %v", c.callers, c.apart, d, want)
			}
		}
	}
}

// The same load takes the same times, whatever the order of goroutines.
func TestTimesReplay(t *testing.T) {
	p, err := fake.ProfileNamed("wan")
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for range 5 {
		took, err := timesOf(t.Context(), p, 3_000_000, 12, 7*time.Millisecond+13)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(took); first == "" {
			first = text
		} else if text != first {
			t.Fatalf("%s\nand before\n%s", text, first)
		}
	}
}

func TestConfigsThatCannotBe(t *testing.T) {
	for _, cfg := range []fake.Config{
		{Buckets: []string{"No"}},
		{Buckets: []string{"a"}},
		{Buckets: []string{"-ab"}},
		{Profile: fake.Profile{Connect: time.Second}},
		{Profile: fake.Profile{Total: -1}},
		{FaultAt: -1},
	} {
		if _, err := fake.New(cfg); !errors.Is(err, fake.ErrConfig) {
			t.Errorf("%+v: %v, want ErrConfig", cfg, err)
		}
	}
	if _, err := fake.New(fake.Config{Waiter: emu.Spin, Faults: faults(t, "post:error@1")}); !errors.Is(err, emu.ErrUnknownOp) {
		t.Errorf("a fault at an operation that isn't there: %v", err)
	}
	if _, err := fake.ProfileNamed("moon"); !errors.Is(err, fake.ErrProfile) {
		t.Errorf("a profile that isn't there: %v", err)
	}
}

// What a result says of a profile.
func TestAssumptionsSayHowFar(t *testing.T) {
	for _, p := range fake.Profiles() {
		text := strings.Join(p.Assumptions(), "; ")
		if loopback := p.Name == "loopback"; loopback != strings.Contains(text, "which code ran") || loopback == strings.Contains(text, "assumed, not measured") {
			t.Errorf("%s: %s", p.Name, text)
		}
	}
}

// The command prints an endpoint that a client can use, until its context ends.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := fake.Serve(ctx, w, "-buckets", "one,two", "-profile", "lan", "-first-byte", "2ms", "-faults", "put:error@1")
		_ = w.Close()
		done <- err
	}()
	lines := bufio.NewScanner(r)
	lines.Scan()
	addr, ok := strings.CutPrefix(lines.Text(), "http://")
	if !ok {
		t.Fatalf("first line %q", lines.Text())
	}
	go func() {
		for lines.Scan() {
		}
	}()
	c := client(t, addr, func(o *minio.Options) { o.MaxRetries = 3; o.Region = "" })
	buckets, err := c.ListBuckets(t.Context())
	if err != nil || len(buckets) != 2 {
		t.Errorf("%v, %v", buckets, err)
	}
	if _, err := c.Client.PutObject(t.Context(), "one", "k", strings.NewReader("x"), 1, minio.PutObjectOptions{}); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{
		{"-no"}, {"more"}, {"-profile", "moon"}, {"-faults", "x"}, {"-faults", "post:error@1"}, {"-first-byte", "soon"}, {"-buckets", "A"}, {"-connect", "-3s"},
	} {
		if err := fake.Serve(t.Context(), io.Discard, args...); !errors.Is(err, fake.ErrUsage) {
			t.Errorf("%q: %v, want ErrUsage", args, err)
		}
	}
	var help bytes.Buffer
	if err := fake.Serve(t.Context(), &help, "-h"); err != nil || !strings.Contains(help.String(), "-profile") {
		t.Errorf("-h: %v, %s", err, &help)
	}
}

// A server that is closed takes no more connections.
func TestServeAfterClose(t *testing.T) {
	s, err := fake.New(fake.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(l)
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is open")
	}
	if err := s.Put("none", "k", nil); err == nil {
		t.Error("a put into a bucket that isn't there")
	}
}
