package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscreds "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// s3client is what both clients can do. Errors are those of the client; code
// tells what the server said.
type s3client interface {
	// put stores an object. With sum, a CRC32C goes along.
	put(ctx context.Context, key string, body []byte, sum bool, ifNoneMatch bool) (etag string, err error)
	// get reads an object: all of it, or a range such as bytes=0-9, if its ETag is ifMatch or that is empty.
	get(ctx context.Context, key, rng, ifMatch string) (got, error)
	head(ctx context.Context, key string) (got, error)
	list(ctx context.Context, prefix, delimiter string, page int) (keys, prefixes []string, err error)
	multipart(ctx context.Context, key string, abort bool, parts ...[]byte) (etag string, err error)
	remove(ctx context.Context, key string) error
	code(err error) string
}

type got struct {
	body      []byte
	size      int64
	etag, sum string // sum: the CRC32C, if the server gave one
}

// maker makes a client for a target.
type maker struct {
	name string
	make func(*target, http.RoundTripper) (s3client, error)
}

// clients are the two.
var clients = []maker{
	{"minio-go", newMinio}, {"aws-sdk-go-v2", newAWS},
}

type minioClient struct {
	*minio.Core
	bucket string
}

func newMinio(t *target, tr http.RoundTripper) (s3client, error) {
	lookup := minio.BucketLookupPath
	if t.Virtual {
		lookup = minio.BucketLookupDNS
	}
	c, err := minio.NewCore(t.Endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(t.AccessKey, t.SecretKey, t.Token), Secure: t.Secure, Region: t.Region,
		BucketLookup: lookup, Transport: tr, MaxRetries: 1,
	})
	return minioClient{c, t.bucket}, err
}

func (c minioClient) put(ctx context.Context, key string, body []byte, sum, ifNoneMatch bool) (string, error) {
	// Of an empty object the client signs chunks behind a length of 0, and versitygw
	// takes the chunk for the next request. Without chunks all is well.
	opts := minio.PutObjectOptions{DisableContentSha256: len(body) == 0}
	if sum {
		opts.UserMetadata = map[string]string{"x-amz-checksum-crc32c": minio.ChecksumCRC32C.ChecksumBytes(body).Encoded()}
	}
	if ifNoneMatch {
		opts.SetMatchETagExcept("*")
	}
	put := c.Client.PutObject
	if sum { // the client wants trailers for a checksum, which versitygw refuses over plain HTTP; its core doesn't
		put = func(ctx context.Context, bucket, key string, body io.Reader, size int64, opts minio.PutObjectOptions) (minio.UploadInfo, error) {
			return c.Core.PutObject(ctx, bucket, key, body, size, "", "", opts)
		}
	}
	info, err := put(ctx, c.bucket, key, bytes.NewReader(body), int64(len(body)), opts)
	return info.ETag, err
}

func (c minioClient) get(ctx context.Context, key, rng, ifMatch string) (g got, err error) {
	opts := minio.GetObjectOptions{}
	opts.Set("X-Amz-Checksum-Mode", "ENABLED")
	if rng != "" {
		opts.Set("Range", rng)
	}
	if ifMatch != "" {
		if err := opts.SetMatchETag(ifMatch); err != nil {
			return g, err
		}
	}
	body, info, _, err := c.Core.GetObject(ctx, c.bucket, key, opts)
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	b, err := io.ReadAll(body)
	return got{b, info.Size, info.ETag, info.ChecksumCRC32C}, err
}

func (c minioClient) head(ctx context.Context, key string) (got, error) {
	info, err := c.StatObject(ctx, c.bucket, key, minio.StatObjectOptions{Checksum: true})
	return got{nil, info.Size, info.ETag, info.ChecksumCRC32C}, err
}

func (c minioClient) list(ctx context.Context, prefix, delimiter string, page int) (keys, prefixes []string, err error) {
	for token := ""; ; {
		r, err := c.ListObjectsV2(c.bucket, prefix, "", token, delimiter, page)
		if err != nil {
			return keys, prefixes, err
		}
		for _, o := range r.Contents {
			keys = append(keys, o.Key)
		}
		for _, p := range r.CommonPrefixes {
			prefixes = append(prefixes, p.Prefix)
		}
		if token = r.NextContinuationToken; !r.IsTruncated {
			return keys, prefixes, ctx.Err()
		}
	}
}

func (c minioClient) multipart(ctx context.Context, key string, abort bool, parts ...[]byte) (string, error) {
	id, err := c.NewMultipartUpload(ctx, c.bucket, key, minio.PutObjectOptions{})
	if err != nil {
		return "", err
	}
	var done []minio.CompletePart
	for i, p := range parts {
		part, err := c.PutObjectPart(ctx, c.bucket, key, id, i+1, bytes.NewReader(p), int64(len(p)), minio.PutObjectPartOptions{})
		if err != nil {
			return "", err
		}
		done = append(done, minio.CompletePart{PartNumber: i + 1, ETag: part.ETag})
	}
	if abort {
		if err := c.AbortMultipartUpload(ctx, c.bucket, key, id); err != nil {
			return "", err
		}
	}
	info, err := c.CompleteMultipartUpload(ctx, c.bucket, key, id, done, minio.PutObjectOptions{})
	return info.ETag, err
}

func (c minioClient) remove(ctx context.Context, key string) error {
	return c.RemoveObject(ctx, c.bucket, key, minio.RemoveObjectOptions{})
}

func (c minioClient) code(err error) string { return minio.ToErrorResponse(err).Code }

type awsClient struct {
	*s3.Client
	bucket *string
}

func newAWS(t *target, tr http.RoundTripper) (s3client, error) {
	scheme := "http"
	if t.Secure {
		scheme = "https"
	}
	c := s3.New(s3.Options{
		BaseEndpoint: aws.String(scheme + "://" + t.Endpoint), UsePathStyle: !t.Virtual, Region: t.Region,
		Credentials: awscreds.NewStaticCredentialsProvider(t.AccessKey, t.SecretKey, t.Token),
		HTTPClient:  &http.Client{Transport: tr}, Retryer: aws.NopRetryer{},
		DisableLogOutputChecksumValidationSkipped: true,
	})
	return awsClient{c, aws.String(t.bucket)}, nil
}

func (c awsClient) put(ctx context.Context, key string, body []byte, sum, ifNoneMatch bool) (string, error) {
	in := &s3.PutObjectInput{Bucket: c.bucket, Key: &key, Body: bytes.NewReader(body)}
	if sum {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32c
	}
	if ifNoneMatch {
		in.IfNoneMatch = aws.String("*")
	}
	out, err := c.PutObject(ctx, in)
	if err != nil {
		return "", err
	}
	return bare(out.ETag), nil
}

func bare(etag *string) string { return strings.Trim(aws.ToString(etag), `"`) }

func (c awsClient) get(ctx context.Context, key, rng, ifMatch string) (g got, err error) {
	in := &s3.GetObjectInput{Bucket: c.bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled}
	if rng != "" {
		in.Range = &rng
	}
	if ifMatch != "" {
		in.IfMatch = aws.String(`"` + ifMatch + `"`)
	}
	out, err := c.GetObject(ctx, in)
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, out.Body.Close()) }()
	b, err := io.ReadAll(out.Body)
	return got{b, aws.ToInt64(out.ContentLength), bare(out.ETag), aws.ToString(out.ChecksumCRC32C)}, err
}

func (c awsClient) head(ctx context.Context, key string) (got, error) {
	out, err := c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: c.bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return got{}, err
	}
	return got{nil, aws.ToInt64(out.ContentLength), bare(out.ETag), aws.ToString(out.ChecksumCRC32C)}, nil
}

func (c awsClient) list(ctx context.Context, prefix, delimiter string, page int) (keys, prefixes []string, err error) {
	in := &s3.ListObjectsV2Input{Bucket: c.bucket, Prefix: &prefix, MaxKeys: aws.Int32(int32(page))}
	if delimiter != "" {
		in.Delimiter = &delimiter
	}
	for {
		r, err := c.ListObjectsV2(ctx, in)
		if err != nil {
			return keys, prefixes, err
		}
		for _, o := range r.Contents {
			keys = append(keys, aws.ToString(o.Key))
		}
		for _, p := range r.CommonPrefixes {
			prefixes = append(prefixes, aws.ToString(p.Prefix))
		}
		if !aws.ToBool(r.IsTruncated) {
			return keys, prefixes, nil
		}
		in.ContinuationToken = r.NextContinuationToken
	}
}

func (c awsClient) multipart(ctx context.Context, key string, abort bool, parts ...[]byte) (string, error) {
	up, err := c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: c.bucket, Key: &key})
	if err != nil {
		return "", err
	}
	var done []types.CompletedPart
	for i, p := range parts {
		n := aws.Int32(int32(i + 1))
		part, err := c.UploadPart(ctx, &s3.UploadPartInput{Bucket: c.bucket, Key: &key, UploadId: up.UploadId, PartNumber: n, Body: bytes.NewReader(p)})
		if err != nil {
			return "", err
		}
		done = append(done, types.CompletedPart{PartNumber: n, ETag: part.ETag, ChecksumCRC32: part.ChecksumCRC32})
	}
	if abort {
		if _, err := c.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: c.bucket, Key: &key, UploadId: up.UploadId}); err != nil {
			return "", err
		}
	}
	out, err := c.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: c.bucket, Key: &key, UploadId: up.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: done},
	})
	if err != nil {
		return "", err
	}
	return bare(out.ETag), nil
}

func (c awsClient) remove(ctx context.Context, key string) error {
	_, err := c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: c.bucket, Key: &key})
	return err
}

func (c awsClient) code(err error) string {
	var api interface{ ErrorCode() string }
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return fmt.Sprint(err)
}
