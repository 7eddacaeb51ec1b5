package fake

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxList = 1000

type listEntry struct {
	Key          string
	LastModified string
	ETag         string
	Size         int
	StorageClass string
}

type commonPrefix struct{ Prefix string }

type listResult struct {
	XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name                  string
	Prefix                string
	Delimiter             string `xml:",omitempty"`
	StartAfter            string `xml:",omitempty"`
	MaxKeys               int
	KeyCount              int
	EncodingType          string `xml:",omitempty"`
	IsTruncated           bool
	ContinuationToken     string `xml:",omitempty"`
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listEntry
	CommonPrefixes        []commonPrefix
}

func (c *call) list() *failure {
	q := c.query
	if q.Get("list-type") != "2" {
		return notImplemented("version 1 of listing; ask with list-type=2")
	}
	res := listResult{
		Name: c.bucket, Prefix: q.Get("prefix"), Delimiter: q.Get("delimiter"), StartAfter: q.Get("start-after"),
		MaxKeys: maxList, EncodingType: q.Get("encoding-type"), ContinuationToken: q.Get("continuation-token"),
	}
	if m := q.Get("max-keys"); m != "" {
		n, err := strconv.Atoi(m)
		if err != nil || n < 0 {
			return fail(http.StatusBadRequest, "InvalidArgument", "max-keys must be a number from 0 on.")
		}
		res.MaxKeys = min(n, maxList)
	}
	after, rolled := res.StartAfter, false
	if res.ContinuationToken != "" {
		raw, err := base64.URLEncoding.DecodeString(res.ContinuationToken)
		if err != nil || len(raw) == 0 {
			return fail(http.StatusBadRequest, "InvalidArgument", "The continuation token provided is incorrect.")
		}
		rolled, after = raw[0] == 'p', string(raw[1:])
	}
	if f := c.s.store.list(&res, c.bucket, after, rolled); f != nil {
		return f
	}
	switch res.EncodingType {
	case "":
	case "url":
		for i := range res.Contents {
			res.Contents[i].Key = listEncode(res.Contents[i].Key)
		}
		for i := range res.CommonPrefixes {
			res.CommonPrefixes[i].Prefix = listEncode(res.CommonPrefixes[i].Prefix)
		}
		res.Prefix, res.Delimiter, res.StartAfter = listEncode(res.Prefix), listEncode(res.Delimiter), listEncode(res.StartAfter)
	default:
		return fail(http.StatusBadRequest, "InvalidArgument", "Invalid encoding method specified: url is the only one.")
	}
	c.xml(http.StatusOK, res)
	return nil
}

// list fills in a page of keys behind after; rolled says that after is a common
// prefix, all of whose keys were listed.
func (s *store) list(res *listResult, bucketName, after string, rolled bool) *failure {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[bucketName]
	if b == nil {
		return errNoSuchBucket
	}
	i, _ := slices.BinarySearch(b.keys, max(res.Prefix, after))
	last := ""
	for ; i < len(b.keys); i++ {
		key := b.keys[i]
		rest, ok := strings.CutPrefix(key, res.Prefix)
		if !ok {
			break
		}
		if after != "" && (key <= after || rolled && strings.HasPrefix(key, after)) {
			continue
		}
		common := ""
		if n := strings.Index(rest, res.Delimiter); res.Delimiter != "" && n >= 0 {
			common = key[:len(res.Prefix)+n+len(res.Delimiter)]
			if n := len(res.CommonPrefixes); n > 0 && res.CommonPrefixes[n-1].Prefix == common {
				continue
			}
		}
		if res.KeyCount == res.MaxKeys {
			if res.MaxKeys > 0 {
				res.IsTruncated = true
				res.NextContinuationToken = base64.URLEncoding.EncodeToString([]byte(last))
			}
			break
		}
		res.KeyCount++
		if common != "" {
			res.CommonPrefixes = append(res.CommonPrefixes, commonPrefix{common})
			last = "p" + common
			continue
		}
		o := b.objects[key]
		res.Contents = append(res.Contents, listEntry{
			Key: key, LastModified: o.mod.Format(time.RFC3339), ETag: o.etag, Size: len(o.body), StorageClass: "STANDARD",
		})
		last = "k" + key
	}
	return nil
}

// listEncode is the encoding of keys in a listing: that of forms, but for slashes.
func listEncode(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "%2F", "/") }
