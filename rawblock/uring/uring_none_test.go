//go:build !(giouring && linux)

package uring_test

import (
	"errors"
	"strings"
	"testing"

	"latlab.example/rawblock"
	"latlab.example/rawblock/uring"
)

func TestProbeSaysHowToGetTheEngine(t *testing.T) {
	err := uring.Probe()
	if uring.Built || !errors.Is(err, rawblock.ErrNotBuilt) || !strings.Contains(err.Error(), "-tags giouring") {
		t.Errorf("built %v, %v", uring.Built, err)
	}
}
