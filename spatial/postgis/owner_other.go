//go:build !unix

package postgis

import (
	"context"
	"errors"
	"os/exec"
)

// owner is whom the cluster belongs to.
type owner struct{}

func newOwner() (owner, error) {
	return owner{}, errors.New("postgis: a private cluster needs Unix sockets; start PostgreSQL with PostGIS yourself and set LATLAB_POSTGIS")
}

func (owner) take(string) error { return nil }

func (owner) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}
