package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"latlab.example/common/host"
	"latlab.example/rawblock/study"
)

// realFiles is the folder for real files, or the one that theirs will be made in.
func realFiles() (string, error) {
	if dir := os.Getenv(study.DirVariable); dir != "" {
		return dir, nil
	}
	return os.UserCacheDir()
}

// fingerprint is this host's, with what lies under the folder for real files.
func fingerprint(ctx context.Context) (host.Fingerprint, error) {
	dir, err := realFiles()
	if err != nil {
		return host.Read(ctx)
	}
	f, err := host.Read(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		if os.Getenv(study.DirVariable) == "" {
			return host.Read(ctx) // a cache folder that was never used
		}
		err = fmt.Errorf("%w; %s must name an existing folder", err, study.DirVariable)
	}
	return f, err
}
