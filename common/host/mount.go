package host

import (
	"path"
	"strconv"
	"strings"
)

// mount is a line of /proc/self/mountinfo, as proc_pid_mountinfo(5) has it.
type mount struct {
	root    string // the folder of the file system that is mounted
	point   string // where
	fs      string // type of file system
	options string // of the file system, as "rw,cpu"
}

// mounts returns the mount table, in the order of mounting, or nil.
func mounts(t tree) []mount {
	var all []mount
	for line := range strings.Lines(t.text("proc/self/mountinfo")) {
		// Any number of optional fields stand before the dash.
		first, second, ok := strings.Cut(line, " - ")
		a, b := strings.Fields(first), strings.Fields(second)
		if !ok || len(a) < 5 || len(b) < 3 {
			continue
		}
		all = append(all, mount{root: unescape(a[3]), point: unescape(a[4]), fs: b[0], options: b[2]})
	}
	return all
}

// unescape undoes the kernel's octal escapes, as \040 for a blank.
func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, `\`)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if len(after) >= 3 {
			if c, err := strconv.ParseUint(after[:3], 8, 8); err == nil {
				b.WriteByte(byte(c))
				s = after[3:]
				continue
			}
		}
		b.WriteByte('\\')
		s = after
	}
}

// under tells whether name is dir or lies below it. Both are clean and absolute.
func under(name, dir string) bool {
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}

// mountOf is the mount that name, clean and absolute, lies on. Of several on
// one point the last hides the others.
func mountOf(all []mount, name string) (mount, bool) {
	var best mount
	found := false
	for _, m := range all {
		if point := path.Clean(m.point); under(name, point) && (!found || len(point) >= len(path.Clean(best.point))) {
			best, found = m, true
		}
	}
	return best, found
}
