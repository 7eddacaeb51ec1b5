// Package seed has the six documents of the case, and puts them into a store
// under the keys at which the service looks. Both sides use package slug: a key
// that somebody types for a name such as that of the first document would miss,
// and the cold path would never run.
package seed

import (
	"bytes"
	"context"
	"fmt"

	"github.com/minio/minio-go/v7"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/slug"
)

// Root is the root of all keys; see slug.Key.
const Root = "documents"

// Document is one to seed.
type Document struct {
	Name string
	Size int // bytes
	seed uint64
}

// Sizes as the study had them: one of 15 MB, the others under 100 KB.
const (
	Large = 15_000_000
	Small = 60_000
)

// Documents are the six. The first is the large one; the last two have one name
// in two Unicode forms.
func Documents() []Document {
	docs := []Document{
		{Name: "1. 연구개발계획서 양식_서울지방청", Size: Large},
		{Name: "2. 사업 예산표 (부록 #1)", Size: Small},
		{Name: "3. 기관 일정 & 성과 100%", Size: 92_000},
		{Name: "annual plan + annex", Size: 35_000},
		{Name: "검토 결과", Size: 48_000},
		{Name: "\u1100\u1165\u11b7\u1110\u1169 \u1100\u1167\u11af\u1100\u116a", Size: 48_000},
	}
	for i := range docs {
		docs[i].seed = uint64(i + 1)
	}
	return docs
}

// Names are those of all documents.
func Names() []string {
	var all []string
	for _, d := range Documents() {
		all = append(all, d.Name)
	}
	return all
}

// Slug is the document's in a URL.
func (d Document) Slug() string {
	s, err := slug.Of(d.Name)
	if err != nil {
		panic(fmt.Sprintf("seed: %v", err)) // the names above have one
	}
	return s
}

// Key is its object's.
func (d Document) Key() string {
	k, err := slug.Key(Root, d.Slug())
	if err != nil {
		panic(fmt.Sprintf("seed: %v", err))
	}
	return k
}

// Bytes generates the document, the same each time.
func (d Document) Bytes() []byte { return coldfetch.Generate(d.Name, d.Size, d.seed) }

// Put stores an object.
type Put func(ctx context.Context, key string, body []byte) error

// Fill puts documents, each under its key with the prefix before it.
func Fill(ctx context.Context, put Put, prefix string, docs ...Document) error {
	for _, d := range docs {
		if err := put(ctx, prefix+d.Key(), d.Bytes()); err != nil {
			return fmt.Errorf("seed %q: %w", d.Name, err)
		}
	}
	return nil
}

// To puts objects into a bucket, in one request each so that its ETag is the
// checksum of all of it.
func To(c *minio.Client, bucket string) Put {
	return func(ctx context.Context, key string, body []byte) error {
		_, err := c.PutObject(ctx, bucket, key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{
			DisableMultipart: true, SendContentMd5: true,
		})
		return err
	}
}
