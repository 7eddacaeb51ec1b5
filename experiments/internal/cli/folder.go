package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"latlab.example/common/host"
	"latlab.example/common/lab"
)

// fingerprint is this host's, with what lies under the folder for real files.
func fingerprint(ctx context.Context) (host.Fingerprint, error) {
	dir, err := lab.RealDir()
	if err != nil {
		return host.Read(ctx) // rigs on a real file will say so
	}
	f, err := host.Read(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; %s must name an existing folder", err, lab.DirVariable)
	}
	return f, err
}
