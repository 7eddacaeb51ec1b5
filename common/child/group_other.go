//go:build !linux

package child

import (
	"errors"
	"fmt"
	"os/exec"
)

func apart(*exec.Cmd) {}

// quota is Linux's alone.
type quota struct{ dir string }

func newQuota(float64) (*quota, error) {
	return nil, fmt.Errorf("%w: a CPU quota needs Linux's cgroups", errors.ErrUnsupported)
}

func join(string) error { return errors.ErrUnsupported }

func (*quota) remove() error { return nil }
