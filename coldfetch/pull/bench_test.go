package pull_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"latlab.example/coldfetch/pull"
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
	for _, name := range []string{"large", "small"} {
		b.Run(name, func(b *testing.B) { comparePull(b, name) })
	}
}

func comparePull(b *testing.B, name string) {
	addr, stop := served(b)
	c, tr, err := client(addr, nil)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	p, err := pull.New(pull.Options{Client: c, Bucket: bucket, Dir: filepath.Join(dir, "pull")})
	if err != nil {
		b.Fatal(err)
	}
	theirs := filepath.Join(dir, "FGetObject")
	ours := func() error {
		path, _, err := p.Pull(b.Context(), name)
		return errors.Join(err, os.Remove(path))
	}
	fget := func() error {
		path := filepath.Join(theirs, name)
		if err := c.FGetObject(b.Context(), bucket, name, path, minio.GetObjectOptions{}); err != nil {
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
	cpu, known := ownCPU()
	var a, z []time.Duration
	for b.Loop() {
		if len(a)%2 == 0 { // neither is always the first
			a, z = append(a, timed(ours)), append(z, timed(fget))
		} else {
			z, a = append(z, timed(fget)), append(a, timed(ours))
		}
	}
	now, _ := ownCPU()
	tr.CloseIdleConnections()
	theirCPU := stop()
	b.ReportMetric(0, "ns/op") // of both together it says nothing
	b.ReportMetric(float64(median(a))/1e6, "pull-ms")
	b.ReportMetric(float64(median(z))/1e6, "FGetObject-ms")
	b.ReportMetric(float64(median(a))/float64(median(z)), "pull/FGetObject")
	if known {
		b.ReportMetric(float64(theirCPU)/float64(theirCPU+now-cpu), "fake-cpu")
	}
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
