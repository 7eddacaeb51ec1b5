package fake

import (
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// object is what a key holds. It never changes: a write makes another one.
type object struct {
	body []byte
	etag string
	mod  time.Time
	meta http.Header // headers that are served with it
	sum  sum
	// composite says that sum is a checksum of the parts' checksums.
	composite bool
}

// upload is a multipart upload under way. Its fields are guarded by store.mu.
type upload struct {
	key     string
	meta    http.Header
	sumKind string // empty if the client chose none
	whole   bool   // the checksum is of all bytes
	parts   map[int]*object
}

type bucket struct {
	made    time.Time
	keys    []string // sorted by bytes
	objects map[string]*object
	uploads map[string]*upload
}

type store struct {
	mu      sync.RWMutex
	buckets map[string]*bucket // guarded by mu, as is all that is in it
	nextID  int                // guarded by mu
}

func newStore(names []string) *store {
	s := &store{buckets: map[string]*bucket{}}
	for _, n := range names {
		s.buckets[n] = newBucket()
	}
	return s
}

func newBucket() *bucket {
	return &bucket{made: now(), objects: map[string]*object{}, uploads: map[string]*upload{}}
}

// now is the time as S3 keeps it, in whole seconds.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func (s *store) get(bucketName, key string) (*object, *failure) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[bucketName]
	if b == nil {
		return nil, errNoSuchBucket
	}
	o := b.objects[key]
	if o == nil {
		return nil, errNoSuchKey
	}
	return o, nil
}

// put enters an object if the conditions of h hold.
func (s *store) put(bucketName, key string, o *object, h http.Header) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[bucketName]
	if b == nil {
		return errNoSuchBucket
	}
	return b.put(key, o, h)
}

func (b *bucket) put(key string, o *object, h http.Header) *failure {
	old := b.objects[key]
	if want := h.Get("If-Match"); want != "" {
		if old == nil {
			return errNoSuchKey
		}
		if !matches(want, old.etag) {
			return errPrecondition
		}
	}
	if none := h.Get("If-None-Match"); none != "" && old != nil && matches(none, old.etag) {
		return errPrecondition
	}
	if old == nil {
		i, _ := slices.BinarySearch(b.keys, key)
		b.keys = slices.Insert(b.keys, i, key)
	}
	b.objects[key] = o
	return nil
}

func (s *store) remove(bucketName string, keys ...string) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[bucketName]
	if b == nil {
		return errNoSuchBucket
	}
	for _, key := range keys {
		if b.objects[key] == nil {
			continue
		}
		delete(b.objects, key)
		i, _ := slices.BinarySearch(b.keys, key)
		b.keys = slices.Delete(b.keys, i, i+1)
	}
	return nil
}

// replace puts other bytes of the same length in an object's place, as another
// client might.
func (s *store) replace(bucketName, key string, old *object) {
	body := make([]byte, len(old.body))
	for i, b := range old.body {
		body[i] = b ^ 0x5A
	}
	o := &object{body: body, etag: etagOf(body), mod: now(), meta: old.meta, sum: sum{defaultSum, sumOf(defaultSum, body)}}
	_ = s.put(bucketName, key, o, http.Header{}) // a bucket that is gone has nothing to replace
}

func (s *store) id() string {
	s.nextID++
	return "upload-" + strconv.Itoa(s.nextID)
}

func (s *store) hasBucket(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.buckets[name] != nil
}

func (s *store) addBucket(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets[name] != nil {
		return false
	}
	s.buckets[name] = newBucket()
	return true
}

func (s *store) removeBucket(name string) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[name]
	switch {
	case b == nil:
		return errNoSuchBucket
	case len(b.keys) > 0:
		return fail(http.StatusConflict, "BucketNotEmpty", "The bucket you tried to delete is not empty.")
	}
	delete(s.buckets, name)
	return nil
}

// bucketList yields the buckets in the order of their names.
func (s *store) bucketList() iter.Seq2[string, time.Time] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	made := map[string]time.Time{}
	for name, b := range s.buckets {
		made[name] = b.made
	}
	return func(yield func(string, time.Time) bool) {
		for _, name := range slices.Sorted(maps.Keys(made)) {
			if !yield(name, made[name]) {
				return
			}
		}
	}
}
