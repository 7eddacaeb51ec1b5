package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"
)

// download gets one object into a file and proves it.
type download struct {
	p      *Puller
	key    string
	to     File
	tracer *tracer
	stats  *Stats

	have  int64  // bytes in the file
	size  int64  // of the object; -1 if the store doesn't say
	etag  string // empty if it can't be resumed under it
	proof proof
}

// run asks for the object until it is whole and right.
func (d *download) run(ctx context.Context) error {
	var last error
	for try := range d.p.o.Attempts {
		if try > 0 {
			d.stats.Retries++
		}
		again, err := d.ask(ctx)
		if err == nil || !again || ctx.Err() != nil {
			return err
		}
		last = err
		if d.have > 0 && d.etag != "" && d.size >= 0 {
			d.tracer.keep()
			continue
		}
		if err := d.restart(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w (asked %d times)", last, d.p.o.Attempts)
}

// restart forgets what came.
func (d *download) restart() error {
	if d.have == 0 {
		return nil
	}
	d.have = 0
	return d.to.Rewind()
}

// ask makes one request and reads its body. again says whether another may help.
func (d *download) ask(ctx context.Context) (again bool, err error) {
	var opts minio.GetObjectOptions
	opts.Set("X-Amz-Checksum-Mode", "ENABLED") // not opts.Checksum: the client would compute it a second time
	resumed := d.have > 0
	if resumed {
		if err := opts.SetMatchETag(d.etag); err != nil {
			return false, err
		}
		if err := opts.SetRange(d.have, 0); err != nil {
			return false, err
		}
		d.stats.Resumes++
	}
	core := minio.Core{Client: d.p.o.Client}
	body, info, header, err := core.GetObject(httptrace.WithClientTrace(ctx, d.tracer.trace()), d.p.o.Bucket, d.key, opts)
	if err != nil {
		return d.refused(err, resumed)
	}
	defer func() {
		if cerr := body.Close(); err == nil && cerr != nil {
			err = cerr
		}
	}()
	if resumed && header.Get("Content-Range") == fmt.Sprintf("bytes %d-%d/%d", d.have, d.size-1, d.size) && info.ETag == d.etag {
		// The rest of what is in the file.
	} else {
		if header.Get("Content-Range") != "" {
			// Another part than was asked for: nothing to build on.
			return true, errors.Join(fmt.Errorf("%w: asked for bytes %d to %d of %d, got %q", ErrShort, d.have, d.size-1, d.size, header.Get("Content-Range")), d.forget())
		}
		if err := d.begin(info, header); err != nil {
			return false, err
		}
	}
	return d.read(body)
}

// forget makes the next request one for the whole object.
func (d *download) forget() error {
	d.etag = ""
	return d.restart()
}

// refused says what to do when a request brought no body. The client has retried
// what it may.
func (d *download) refused(err error, resumed bool) (again bool, _ error) {
	switch resp := minio.ToErrorResponse(err); {
	case resumed && (resp.StatusCode == http.StatusPreconditionFailed || resp.StatusCode == http.StatusRequestedRangeNotSatisfiable):
		// The object was replaced: what came belongs to another one.
		return true, errors.Join(err, d.forget())
	case resp.Code == minio.NoSuchKey:
		return false, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return false, err
}

// begin takes down what the store says of an object that comes from its start.
func (d *download) begin(info minio.ObjectInfo, header http.Header) error {
	if err := d.restart(); err != nil {
		return err
	}
	d.size, d.etag = info.Size, info.ETag
	if strings.HasPrefix(header.Get("Etag"), "W/") {
		d.etag = "" // equal weak ones may name different bytes
	}
	var ok bool
	if d.proof, ok = proofOf(info, header); !ok && (!d.p.o.LengthOnly || d.size < 0) {
		return fmt.Errorf("%w: ETag %q, %d bytes; upload it in one part or with a checksum of type FULL_OBJECT, or set Options.LengthOnly", ErrNoProof, info.ETag, info.Size)
	}
	d.stats.Proof = d.proof.name
	return nil
}

// buffers are for bodies on their way to a file.
var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// read takes the body, to its end, and proves the whole object.
func (d *download) read(body io.Reader) (again bool, err error) {
	buf := buffers.Get().(*[256 << 10]byte)
	defer buffers.Put(buf)
	defer d.tracer.bodyEnd()
	for {
		n, rerr := body.Read(buf[:])
		if n > 0 {
			d.proof.add(buf[:n])
			if _, err := d.to.Write(buf[:n]); err != nil {
				return false, err
			}
			d.have += int64(n)
			d.stats.Bytes = d.have
		}
		if rerr == io.EOF {
			break
		}
		if rerr != nil {
			return true, fmt.Errorf("%w: %d of %s bytes: %w", ErrShort, d.have, sizeText(d.size), rerr)
		}
	}
	if d.size >= 0 && d.have != d.size {
		return true, fmt.Errorf("%w: %d of %s bytes", ErrShort, d.have, sizeText(d.size))
	}
	if err := d.proof.check(); err != nil {
		return true, errors.Join(err, d.forget())
	}
	return false, nil
}

func sizeText(size int64) string {
	if size < 0 {
		return "an unknown number of"
	}
	return strconv.FormatInt(size, 10)
}
