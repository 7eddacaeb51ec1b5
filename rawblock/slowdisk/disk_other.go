//go:build !linux

package slowdisk

import (
	"context"
	"fmt"
	"runtime"

	"latlab.example/rawblock"
)

// Disk is a loop device on a file that this process serves. It exists on Linux only.
type Disk struct{}

// Open returns rawblock.ErrPlatform.
func Open(context.Context, Config) (*Disk, error) {
	return nil, fmt.Errorf("slowdisk: loop device on %s: %w; take an emulated rig", runtime.GOOS, rawblock.ErrPlatform)
}

// CleanStale finds nothing.
func CleanStale() (int, error) { return 0, nil }

func (*Disk) unreachable() string { panic("slowdisk: no Disk is ever made here") }

// The methods of a Disk, which nothing can reach.
func (d *Disk) Path() string                  { return d.unreachable() }
func (d *Disk) Counts() Counts                { d.unreachable(); return Counts{} }
func (d *Disk) PowerCut() int                 { return len(d.unreachable()) }
func (d *Disk) File() (*rawblock.File, error) { d.unreachable(); return nil, nil }
func (d *Disk) Close() error                  { d.unreachable(); return nil }
