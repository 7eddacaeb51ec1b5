package lab

import (
	"fmt"
	"os"
	"path/filepath"
)

// DirVariable names the folder where rigs on a real file make theirs. Without
// it that is latlab in the user's cache folder.
const DirVariable = "LATLAB_DIR"

// RealDir is the folder for real files. It makes the default one, but not one
// that the user named.
func RealDir() (string, error) {
	if dir := os.Getenv(DirVariable); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for real files: %w; name one with %s", err, DirVariable)
	}
	dir := filepath.Join(cache, "latlab")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("folder for real files: %w; name another with %s", err, DirVariable)
	}
	return dir, nil
}
