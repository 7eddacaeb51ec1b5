package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"latlab.example/rawblock"
	"latlab.example/rawblock/uring"
)

// fill makes bytes that no disk can compress.
func fill(p []byte) {
	_, _ = rand.NewChaCha8([32]byte{1}).Read(p) // never fails
}

// ours keeps a point's depth of random writes under way through the engine for
// a while and gives their rate.
func ours(ctx context.Context, path string, size int64, p point, span time.Duration) (rate float64, err error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("ours: %s: open %s: %w; name a folder on ext4, xfs or btrfs with -dir", p, path, err)
	}
	f, err := rawblock.NewFile(os.NewFile(uintptr(fd), path), p.block, 0, size)
	if err != nil {
		return 0, err
	}
	dev, err := uring.New(f, uring.Options{Entries: p.depth})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	mem, err := unix.Mmap(-1, 0, p.depth*p.block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unix.Munmap(mem)) }()
	fill(mem)

	blocks := size / int64(p.block)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	slots := make([]rawblock.IO, p.depth)
	for i := range slots {
		slots[i] = rawblock.IO{Off: random.Int64N(blocks) * int64(p.block), Buf: mem[i*p.block : (i+1)*p.block]}
	}
	done := 0
	start := time.Now()
	err = dev.WriteStream(ctx, slots, func(w *rawblock.IO) bool {
		done++
		w.Off = random.Int64N(blocks) * int64(p.block)
		return time.Since(start) < span
	})
	return float64(done) / time.Since(start).Seconds(), err
}
