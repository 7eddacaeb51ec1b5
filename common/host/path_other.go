//go:build !linux

package host

import "io/fs"

func deviceOf(fs.FileInfo) (string, bool, error) { return "", false, unsupported("PathInfo") }
