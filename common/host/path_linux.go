package host

import (
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// deviceOf is the major:minor that a file lies on, or that it is.
func deviceOf(info fs.FileInfo) (dev string, isDevice bool, err error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false, unsupported("PathInfo")
	}
	n := uint64(st.Dev)
	if isDevice = info.Mode()&fs.ModeDevice != 0 && info.Mode()&fs.ModeCharDevice == 0; isDevice {
		n = uint64(st.Rdev)
	}
	return fmt.Sprintf("%d:%d", unix.Major(n), unix.Minor(n)), isDevice, nil
}
