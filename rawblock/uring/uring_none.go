//go:build !(giouring && linux)

// Package uring is engine io_uring: many writes in one submission.
//
// It is built only with tag giouring, and its library links only with
// -ldflags=-checklinkname=0; the Makefile passes both. Otherwise New answers
// with rawblock.ErrNotBuilt.
package uring

import (
	"errors"
	"fmt"

	"latlab.example/rawblock"
)

// Built says whether the engine is part of this build.
const Built = false

// Device is a batcher on a file. This build can't make one.
type Device struct{ rawblock.Batcher }

// New closes the file and returns rawblock.ErrNotBuilt.
func New(f *rawblock.File) (*Device, error) { return nil, errors.Join(Probe(), f.Close()) }

// Probe returns rawblock.ErrNotBuilt.
func Probe() error {
	return fmt.Errorf("io_uring: %w: needs Linux and a build with -tags giouring -ldflags=-checklinkname=0 (`make build`); or choose engine posix", rawblock.ErrNotBuilt)
}
