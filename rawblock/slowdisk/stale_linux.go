package slowdisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A mount's source says who serves it: latlab-slowdisk:NAMESPACE:PID:START, where
// the namespace is that of process numbers, and START the process's start in
// clock ticks since boot. So a number that was given out again is no mistake.
const sourcePrefix = "latlab-slowdisk"

func mountSource() (string, error) {
	namespace, err := pidNamespace()
	if err != nil {
		return "", err
	}
	pid := os.Getpid()
	p, err := readProcess("/proc", pid)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s:%s:%d:%s", sourcePrefix, namespace, pid, p.start), nil
}

// pidNamespace is the number of this process's namespace of process numbers.
func pidNamespace() (string, error) {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return "", err
	}
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]"), nil
}

// CleanStale unmounts the disks of processes that are gone, or that were killed
// and can't end because nobody answers a request of theirs. It touches nothing
// that wasn't mounted by this package, nothing of another namespace of process
// numbers, and nothing of a living process. It says how many it unmounted.
func CleanStale() (int, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0, fmt.Errorf("slowdisk: look for stale mounts: %w", err)
	}
	namespace, err := pidNamespace()
	if err != nil {
		return 0, fmt.Errorf("slowdisk: look for stale mounts: %w", err)
	}
	var errs []error
	cleaned := 0
	for _, dir := range stale(string(info), namespace, "/proc") {
		// Force makes the kernel answer what is under way; then a killed process ends.
		if err := unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH); errors.Is(err, unix.EINVAL) {
			continue // another process was faster
		} else if err != nil {
			errs = append(errs, fmt.Errorf("slowdisk: unmount stale %s: %w; do it by hand: umount -f -l %[1]s", dir, err))
			continue
		}
		cleaned++
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("slowdisk: remove stale mount point: %w", err))
		}
	}
	return cleaned, errors.Join(errs...)
}

// stale gives the mount points in mountinfo that dead or dying processes of the
// namespace left.
func stale(mountinfo, namespace, proc string) (dirs []string) {
	for line := range strings.Lines(mountinfo) {
		// ID parent major:minor root MOUNT-POINT options [optional ...] - TYPE SOURCE ...
		before, after, ok := strings.Cut(line, " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(rest) < 2 || rest[0] != fsType {
			continue
		}
		dir := unescape(fields[4])
		owner := strings.Split(rest[1], ":")
		if len(owner) != 4 || owner[0] != sourcePrefix || owner[1] != namespace || !strings.HasPrefix(filepath.Base(dir), "latlab-slowdisk-") {
			continue
		}
		pid, err := strconv.Atoi(owner[2])
		if err != nil || pid <= 0 {
			continue
		}
		p, err := readProcess(proc, pid)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) || err == nil && (p.start != owner[3] || p.dying) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// process is what /proc tells of one.
type process struct {
	start string // in clock ticks since boot
	dying bool   // a zombie, or killed and not able to end
}

func readProcess(proc string, pid int) (process, error) {
	at := filepath.Join(proc, strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(at, "stat"))
	if err != nil {
		return process{}, err
	}
	// The name, in parentheses, may hold anything. The state is field 3, the start field 22.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return process{}, fmt.Errorf("%s/stat: %d fields, want 20 or more after the name", at, len(fields))
	}
	status, err := os.ReadFile(filepath.Join(at, "status"))
	if err != nil {
		return process{}, err
	}
	return process{start: fields[19], dying: fields[0] == "Z" || fields[0] == "X" || killed(string(status))}, nil
}

// killed says whether a status names SIGKILL among the signals that wait.
func killed(status string) bool {
	const sigkill = 1 << (unix.SIGKILL - 1)
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		if set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err == nil && set&sigkill != 0 {
			return true
		}
	}
	return false
}

// unescape undoes mountinfo's octal escapes of blanks and backslashes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
