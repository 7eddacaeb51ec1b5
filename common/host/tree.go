package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// tree is the folder that holds proc and sys: "/", or a test's.
type tree string

const system tree = "/"

// path takes slashes.
func (t tree) path(name string) string { return filepath.Join(string(t), filepath.FromSlash(name)) }

// text is a file's content without blanks round it, or "" if it can't be read.
func (t tree) text(name string) string {
	b, err := os.ReadFile(t.path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number is a file's content if it is a number that isn't negative.
func (t tree) number(name string) (uint64, bool) {
	n, err := strconv.ParseUint(t.text(name), 10, 64)
	return n, err == nil
}

// or is text, or other if that is empty.
func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func unsupported(what string) error {
	return fmt.Errorf("host: %s needs Linux, this is %s: %w", what, runtime.GOOS, errors.ErrUnsupported)
}
