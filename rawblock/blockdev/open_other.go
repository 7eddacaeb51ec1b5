//go:build !linux

package blockdev

import (
	"context"
	"fmt"
	"runtime"

	"latlab.example/rawblock"
)

// Device is a range of a real block device. It exists on Linux only.
type Device struct{ *rawblock.File }

// Plan is empty: no Device is ever made here.
func (*Device) Plan() Plan { return Plan{} }

// Clear does nothing: no Device is ever made here.
func (*Device) Clear(context.Context) error { return unsupported() }

func unsupported() error {
	return fmt.Errorf("blockdev: on %s: %w", runtime.GOOS, rawblock.ErrPlatform)
}

// Inspect returns rawblock.ErrPlatform.
func Inspect(context.Context, string, int64) (Plan, error) { return Plan{}, unsupported() }

// Open returns rawblock.ErrPlatform.
func Open(context.Context, string, Consent, int64) (*Device, error) { return nil, unsupported() }
