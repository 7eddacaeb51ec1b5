package cli

import (
	"context"

	"latlab.example/common/host"
	"latlab.example/common/lab"
)

// fingerprint is this host's, with what lies under the folder for real files. A
// folder that can't be used is left out: the rigs that need it will say so, and
// the others don't.
func fingerprint(ctx context.Context) (host.Fingerprint, error) {
	if dir, err := lab.RealDir(); err == nil {
		if f, err := host.Read(ctx, dir); err == nil {
			return f, nil
		}
	}
	return host.Read(ctx)
}
