package slowdisk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"latlab.example/common/emu"
	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock"
	"latlab.example/rawblock/uring"
)

const (
	benchWrites  = 100
	benchWorkers = 32
)

// BenchmarkModelledWrites writes 100 scattered blocks of 4 KiB to a disk of 1 ms,
// one by one, from a pool of 32, and in one submission, with many channels and
// with one. The ideal is 100, 4 and 4 ms with 32 channels, and always 100 ms
// with one. depth is the most requests that were at the medium at once.
func BenchmarkModelledWrites(b *testing.B) {
	fmt.Println("provenance: modelled")
	for _, channels := range []int{32, 1} {
		for _, engine := range []rawblock.Engine{rawblock.Posix, rawblock.IOUring} {
			for _, strategy := range []rawblock.Strategy{rawblock.Sequential, rawblock.Pool, rawblock.Batch} {
				if engine == rawblock.Posix && strategy == rawblock.Batch {
					continue // it has none
				}
				b.Run(fmt.Sprintf("channels=%d/engine=%s/strategy=%s", channels, engine, strategy), func(b *testing.B) {
					d := disk(b, Config{Size: 4 * benchWrites * block, Latency: emu.Constant(ms), Channels: channels})
					dev := engineOn(b, d, engine)
					ws := make([]rawblock.IO, benchWrites)
					for i := range ws {
						ws[i] = rawblock.IO{Off: int64(i*37%(2*benchWrites)) * 2 * block, Buf: blocks(1, byte(i))}
					}
					for b.Loop() {
						if err := writeAll(dev, ws, strategy); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(d.Counts().Peak), "depth")
					b.ReportMetric(float64(d.Counts().Writes)/float64(b.N), "dev-writes/op")
				})
			}
		}
	}
	fmt.Println("provenance:")
}

func writeAll(dev rawblock.Device, ws []rawblock.IO, s rawblock.Strategy) error {
	if s == rawblock.Batch {
		return dev.(rawblock.Batcher).WriteBatch(context.Background(), ws, nil)
	}
	workers := 1
	if s == rawblock.Pool {
		workers = benchWorkers
	}
	next := make(chan rawblock.IO, len(ws))
	for _, w := range ws {
		next <- w
	}
	close(next)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			for w := range next {
				errs[n] = errors.Join(errs[n], dev.Write(context.Background(), w))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// engineOn opens the disk by an engine, until the benchmark ends.
func engineOn(b *testing.B, d *Disk, e rawblock.Engine) rawblock.Device {
	f, err := d.File()
	if err != nil {
		b.Fatal(err)
	}
	var dev rawblock.Device = f
	if e == rawblock.IOUring {
		if dev, err = uring.New(f, uring.Options{}); errors.Is(err, rawblock.ErrNotBuilt) || errors.Is(err, rawblock.ErrBlocked) {
			labtest.Require(b, "iouring", err) // LATLAB_REQUIRE_REAL
		} else if err != nil {
			b.Fatal(err)
		}
	}
	b.Cleanup(func() {
		if err := dev.Close(); err != nil {
			b.Error(err)
		}
	})
	return dev
}
