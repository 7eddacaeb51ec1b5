package store_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"go.uber.org/goleak"

	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/store"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// transport is one that the test closes.
func transport(t *testing.T) *http.Transport {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// own starts a server for the test, and names it as a user's own.
func own(t *testing.T) *minio.Client {
	t.Helper()
	exe, err := store.Find()
	if err != nil {
		labtest.Require(t, "s3", err)
	}
	s, err := store.Start(t.Context(), exe, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv(store.EndpointVariable, "http://"+s.Endpoint)
	t.Setenv("AWS_ACCESS_KEY_ID", s.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s.SecretKey)
	t.Setenv("AWS_SESSION_TOKEN", "")
	t.Setenv("AWS_REGION", s.Region)
	t.Setenv(store.StyleVariable, "")
	t.Setenv(store.BucketVariable, "")
	c, err := s.Client(transport(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fill puts an object into the place, and pulls it from there.
func fill(ctx context.Context, t *testing.T, p *store.Place) {
	t.Helper()
	c, err := p.Client(transport(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1. 연구개발계획서", "1. \u110b\u1167\u11ab\u1100\u116e", "plain"} {
		body := bytes.Repeat([]byte(name), 1000)
		if _, err := c.PutObject(ctx, p.Bucket, p.Prefix+name, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
		puller, err := pull.New(pull.Options{Client: c, Bucket: p.Bucket, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		path, s, err := puller.Pull(ctx, p.Prefix+name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, body) || s.Proof == "length" || s.Requests != 1 {
			t.Errorf("%d bytes, %v, %+v", len(got), err, s)
		}
		t.Logf("%d bytes in %v, proved by %s", s.Bytes, s.Took, s.Proof)
	}
}

// What Open started or made is gone after Close; what was there stays.
func TestPlaceCleansUp(t *testing.T) {
	ctx := t.Context()
	c := own(t)
	p, err := store.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fill(ctx, t, p)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left, err := c.ListBuckets(ctx); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}

	if err := c.MakeBucket(ctx, "theirs", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PutObject(ctx, "theirs", "kept", strings.NewReader("x"), 1, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Setenv(store.BucketVariable, "theirs")
	if p, err = store.Open(ctx); err != nil {
		t.Fatal(err)
	}
	if p.Bucket != "theirs" || p.Prefix == "" {
		t.Errorf("%s/%s", p.Bucket, p.Prefix)
	}
	fill(ctx, t, p)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	var left []string
	for o := range c.ListObjects(ctx, "theirs", minio.ListObjectsOptions{Recursive: true}) {
		left = append(left, o.Key)
	}
	if len(left) != 1 || left[0] != "kept" {
		t.Errorf("left: %q", left)
	}
}

// Without a store named, the program that was built is started and ended.
func TestOpenStartsTheServer(t *testing.T) {
	t.Setenv(store.EndpointVariable, "")
	if err := store.Probe(t.Context()); err != nil {
		labtest.Require(t, "s3", err)
	}
	p, err := store.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.Real != "versitygw "+store.Version || p.Prefix != "" {
		t.Errorf("%+v", p)
	}
	fill(t.Context(), t, p)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", p.Endpoint); err == nil {
		c.Close()
		t.Error("the server still answers")
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Setenv(store.EndpointVariable, "")
	t.Setenv(store.ExeVariable, filepath.Join(t.TempDir(), "none"))
	missing := func(want string) {
		t.Helper()
		err := store.Probe(t.Context())
		u := (*lab.Unavailable)(nil)
		if !errors.As(err, &u) || u.Need != "s3" || u.Do == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if p, err := store.Open(t.Context()); !errors.Is(err, lab.ErrUnavailable) {
			t.Errorf("Open: %v, %v", p, err)
		}
	}
	missing("is no program")
	t.Setenv(store.ExeVariable, "")
	t.Chdir(string(filepath.Separator)) // no clone is above it
	missing("isn't built")
	t.Setenv(store.EndpointVariable, "ftp://x")
	missing("host:port")
	for _, text := range []string{"http://k:sekret@host/bucket", "k:sekret@host:9000", "https://k:sekret%zz@host"} {
		t.Setenv(store.EndpointVariable, text)
		if _, _, err := store.FromEnv(); err == nil || strings.Contains(err.Error(), "sekret") {
			t.Errorf("%s: %v, want an error that doesn't show the key", text, err)
		}
	}
	t.Setenv(store.EndpointVariable, "host:1")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	missing("AWS_SECRET_ACCESS_KEY")
}

func TestFromEnv(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	t.Setenv("AWS_REGION", "")
	t.Setenv(store.StyleVariable, "virtual")
	for text, want := range map[string]store.Account{
		"store:9000":         {Endpoint: "store:9000"},
		"http://store:9000/": {Endpoint: "store:9000"},
		"https://store":      {Endpoint: "store", Secure: true},
	} {
		want.AccessKey, want.SecretKey, want.Region, want.Virtual = "k", "s", "us-east-1", true
		t.Setenv(store.EndpointVariable, text)
		t.Setenv("AWS_SESSION_TOKEN", "")
		if a, ok, err := store.FromEnv(); err != nil || !ok || a != want {
			t.Errorf("%s: %+v, %v, %v", text, a, ok, err)
		}
	}
}

// A server that can't start says why.
func TestStartFails(t *testing.T) {
	exe, err := store.Find()
	if err != nil {
		labtest.Require(t, "s3", err)
	}
	if _, err := store.Start(t.Context(), exe, store.Options{Addr: "192.0.2.1:1"}); err == nil || !strings.Contains(err.Error(), "it ended") {
		t.Errorf("an address of another host: %v", err)
	}
	if _, err := store.Start(t.Context(), filepath.Join(t.TempDir(), "none"), store.Options{}); err == nil {
		t.Error("a program that isn't there starts")
	}
}
