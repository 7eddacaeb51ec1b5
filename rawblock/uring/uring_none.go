//go:build !(giouring && linux)

package uring

import (
	"context"
	"errors"
	"fmt"

	"latlab.example/rawblock"
)

// Built says whether the engine is part of this build.
const Built = false

// Device is a batcher on a file. This build can't make one.
type Device struct{ rawblock.Batcher }

// New closes the file and returns rawblock.ErrNotBuilt.
func New(f File, _ Options) (*Device, error) { return nil, errors.Join(Probe(), f.Close()) }

// Probe returns rawblock.ErrNotBuilt.
func Probe() error {
	return fmt.Errorf("io_uring: %w: needs Linux and a build with -tags giouring -ldflags=-checklinkname=0 (`make build`); or choose engine posix", rawblock.ErrNotBuilt)
}

// Register can't be reached.
func (*Device) Register([]byte) error { return Probe() }

// WriteStream can't be reached.
func (*Device) WriteStream(context.Context, []rawblock.IO, func(*rawblock.IO) bool) error {
	return Probe()
}
