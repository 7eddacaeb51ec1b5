package pull_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/store"
	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

// served is a fake store in a process of its own, and how much processor time it
// took in the end.
func served(b *testing.B) (addr string, stop func() time.Duration) {
	b.Helper()
	cmd := child(b.Context(), "serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	addr, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(addr), func() time.Duration {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			b.Fatal(err)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
}

// BenchmarkModelledPull compares a pull with the client's own FGetObject and the
// flushes that this lacks, in turns, from a fake on loopback in a process of its
// own. pull/FGetObject is the ratio of medians; fake-cpu the fake's part of both
// processes' processor time.
func BenchmarkModelledPull(b *testing.B) {
	config(b, lab.Modelled, "fake")
	for _, name := range []string{"large", "small"} {
		b.Run(name, func(b *testing.B) {
			addr, stop := served(b)
			c, tr, err := client(addr, nil)
			if err != nil {
				b.Fatal(err)
			}
			cpu, known := ownCPU()
			comparePull(b, c, bucket, name)
			now, _ := ownCPU()
			tr.CloseIdleConnections()
			if theirs := stop(); known {
				b.ReportMetric(float64(theirs)/float64(theirs+now-cpu), "fake-cpu")
			}
		})
	}
}

// BenchmarkMeasuredPull is the same from a real store.
func BenchmarkMeasuredPull(b *testing.B) {
	p, err := store.Open(b.Context())
	if err != nil {
		labtest.Require(b, "s3", err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			b.Error(err)
		}
	}()
	tr := &http.Transport{DisableCompression: true}
	defer tr.CloseIdleConnections()
	c, err := p.Client(tr)
	if err != nil {
		b.Fatal(err)
	}
	config(b, lab.Measured, p.Real)
	for _, name := range []string{"large", "small"} {
		b.Run(name, func(b *testing.B) {
			key := p.Prefix + name
			if _, err := c.PutObject(b.Context(), p.Bucket, key, bytes.NewReader(content(objects[name], 1)), int64(objects[name]), minio.PutObjectOptions{}); err != nil {
				b.Fatal(err)
			}
			comparePull(b, c, p.Bucket, key)
		})
	}
}

// config prints what the results that follow are worth.
func config(b *testing.B, p lab.Provenance, rig string) {
	b.Helper()
	h, err := host.Read(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	fmt.Printf("provenance: %v\nrig: %s\nhost: %s\n", p, rig, h.ID())
}

func comparePull(b *testing.B, c *minio.Client, bucket, key string) {
	dir := b.TempDir()
	p, err := pull.New(pull.Options{Client: c, Bucket: bucket, Dir: filepath.Join(dir, "pull")})
	if err != nil {
		b.Fatal(err)
	}
	theirs := filepath.Join(dir, "FGetObject")
	ours := func() error {
		path, _, err := p.Pull(b.Context(), key)
		return errors.Join(err, os.Remove(path))
	}
	fget := func() error {
		path := filepath.Join(theirs, "document")
		if err := c.FGetObject(b.Context(), bucket, key, path, minio.GetObjectOptions{}); err != nil {
			return err
		}
		return errors.Join(flush(path), pull.OS.SyncDir(theirs), os.Remove(path))
	}
	timed := func(f func() error) time.Duration {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	timed(ours) // connects
	timed(fget)
	var a, z []time.Duration
	for b.Loop() {
		if len(a)%2 == 0 { // neither is always the first
			a, z = append(a, timed(ours)), append(z, timed(fget))
		} else {
			z, a = append(z, timed(fget)), append(a, timed(ours))
		}
	}
	b.ReportMetric(0, "ns/op") // of both together it says nothing
	b.ReportMetric(float64(median(a))/1e6, "pull-ms")
	b.ReportMetric(float64(median(z))/1e6, "FGetObject-ms")
	b.ReportMetric(float64(median(a))/float64(median(z)), "pull/FGetObject")
}

func flush(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
