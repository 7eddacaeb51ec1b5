package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"latlab.example/common/lab"
)

// Environment of a store of one's own. The keys are in AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the region in AWS_REGION.
const (
	EndpointVariable = "LATLAB_S3"        // host:port, or a URL; https if it says so
	BucketVariable   = "LATLAB_S3_BUCKET" // a bucket to write in, under a prefix of its own; empty: make one
	StyleVariable    = "LATLAB_S3_STYLE"  // "virtual": the bucket goes into the host name; else it goes into the path
)

// Account is where a store is and who asks.
type Account struct {
	Endpoint             string // host:port
	Secure               bool
	AccessKey, SecretKey string
	Token                string // of a session; empty if there is none
	Region               string
	Virtual              bool // virtual-host addressing
}

// Client makes a client for the account. The transport is the caller's to close;
// nil is the client's default, which keeps idle connections for a minute.
func (a Account) Client(tr http.RoundTripper) (*minio.Client, error) {
	lookup := minio.BucketLookupPath
	if a.Virtual {
		lookup = minio.BucketLookupDNS
	}
	return minio.New(a.Endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(a.AccessKey, a.SecretKey, a.Token), Secure: a.Secure, Region: a.Region, BucketLookup: lookup,
		Transport: tr,
	})
}

// Place is a part of a store that is this process's own until Close.
type Place struct {
	Account
	Bucket string
	Prefix string // of keys: empty, or ends with a slash
	Real   string // which server it is, for provenance: "versitygw v1.8.0" or the endpoint

	made   bool // the bucket is ours
	server *Server
}

// FromEnv reads the account that LATLAB_S3 names. ok is false if it names none.
func FromEnv() (a Account, ok bool, err error) {
	text := os.Getenv(EndpointVariable)
	if text == "" {
		return a, false, nil
	}
	a = Account{
		Endpoint: text, AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"), SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		Token: os.Getenv("AWS_SESSION_TOKEN"), Region: os.Getenv("AWS_REGION"), Virtual: os.Getenv(StyleVariable) == "virtual",
	}
	if a.Region == "" {
		a.Region = "us-east-1"
	}
	if strings.Contains(text, "@") { // the rest is a key, and not shown
		return a, true, fmt.Errorf("store: %s has keys in it; put them into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and leave host:port or a URL", EndpointVariable)
	}
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
			return a, true, fmt.Errorf("store: %s=%q; write host:port, http://host:port or https://host", EndpointVariable, text)
		}
		a.Endpoint, a.Secure = u.Host, u.Scheme == "https"
	}
	if a.AccessKey == "" || a.SecretKey == "" {
		return a, true, fmt.Errorf("store: %s is set, and AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY isn't; set both", EndpointVariable)
	}
	return a, true, nil
}

// Probe says whether Open would find a store, without changing anything. The
// error is a *lab.Unavailable.
func Probe(context.Context) error {
	if _, ok, err := FromEnv(); err != nil {
		return &lab.Unavailable{Need: "s3", Why: err.Error(), Do: "set the variables that it names"}
	} else if ok {
		return nil
	}
	_, err := Find()
	return err
}

// Open finds a store, and makes a place of its own there. The error is a
// *lab.Unavailable if there is no store. The caller closes the place.
func Open(ctx context.Context) (p *Place, err error) {
	if err := Probe(ctx); err != nil {
		return nil, err
	}
	account, ok, err := FromEnv()
	if err != nil {
		return nil, err
	}
	p = &Place{Account: account, Real: account.Endpoint, Bucket: os.Getenv(BucketVariable)}
	if !ok {
		p.Bucket = ""
		exe, err := Find()
		if err != nil {
			return nil, err
		}
		if p.server, err = Start(ctx, exe, Options{}); err != nil {
			return nil, err
		}
		p.Account, p.Real = p.server.Account, "versitygw "+Version
	}
	if err := p.claim(ctx); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// claim makes a bucket, or chooses a prefix in the bucket that was named.
func (p *Place) claim(ctx context.Context) error {
	var raw [8]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return err
	}
	name := "latlab-" + hex.EncodeToString(raw[:])
	if p.Bucket != "" {
		p.Prefix = name + "/"
		return nil
	}
	client, done, err := p.ownClient()
	if err != nil {
		return err
	}
	defer done()
	if err := client.MakeBucket(ctx, name, minio.MakeBucketOptions{Region: p.Region}); err != nil {
		return fmt.Errorf("store: make bucket %s at %s: %w; allow it, or name a bucket in %s", name, p.Endpoint, err, BucketVariable)
	}
	p.Bucket, p.made = name, true
	return nil
}

// Close removes what is in the place, the bucket if Open made it, and ends the
// server if Open started it.
func (p *Place) Close() error { return errors.Join(p.clean(), p.stop()) }

func (p *Place) stop() error {
	if p.server == nil {
		return nil
	}
	return p.server.Close()
}

// ownClient is a client that leaves no connection behind.
func (p *Place) ownClient() (c *minio.Client, done func(), err error) {
	tr := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableCompression: true}
	c, err = p.Client(tr)
	return c, tr.CloseIdleConnections, err
}

func (p *Place) clean() error {
	client, done, err := p.ownClient()
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var all error
	for o := range client.ListObjects(ctx, p.Bucket, minio.ListObjectsOptions{Prefix: p.Prefix, Recursive: true}) {
		if o.Err != nil {
			return errors.Join(all, fmt.Errorf("store: clean up %s/%s: %w", p.Bucket, p.Prefix, o.Err))
		}
		all = errors.Join(all, client.RemoveObject(ctx, p.Bucket, o.Key, minio.RemoveObjectOptions{}))
	}
	if p.made && all == nil {
		all = client.RemoveBucket(ctx, p.Bucket)
	}
	if all != nil {
		return fmt.Errorf("store: clean up %s/%s: %w", p.Bucket, p.Prefix, all)
	}
	return nil
}
