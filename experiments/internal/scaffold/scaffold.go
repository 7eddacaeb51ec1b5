// Package scaffold writes the skeleton of a new case: a module with real code, a
// fake, and a study whose experiment passes labtest.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed case
var files embed.FS

// ErrName occurs when a case can't have that name.
var ErrName = errors.New("bad name of a case")

const (
	placeholder = "mycase"
	suffix      = ".txt" // keeps the go command out of the skeleton
)

var good = regexp.MustCompile(`^[a-z][a-z0-9]{1,30}$`)

// taken are names that Go or the workspace uses.
var taken = []string{"common", "experiments", "tools", "docs", "internal", "testdata", "vendor", "main", "fake", "study", "lab", "bubble", "emu", "metrics", "results", "context", "errors", "fmt", "testing", "time"}

// Write makes the folder root/name with the case in it, and returns the files'
// paths in their order. Nothing is overwritten. The error wraps ErrName, or
// fs.ErrExist if something of that name is there.
func Write(root, name string) ([]string, error) {
	if !good.MatchString(name) {
		return nil, fmt.Errorf("%w: %q; take lower-case letters and digits, a letter first", ErrName, name)
	}
	if slices.Contains(taken, name) || token.IsKeyword(name) {
		return nil, fmt.Errorf("%w: %q is in use; take another", ErrName, name)
	}
	dir := filepath.Join(root, name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, fmt.Errorf("new case: %w", err)
	}
	var written []string
	err := fs.WalkDir(files, "case", func(from string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(from)
		if err != nil {
			return err
		}
		rel := strings.TrimSuffix(strings.TrimPrefix(from, "case/"), suffix)
		rel = strings.ReplaceAll(rel, placeholder, name)
		to := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(to, bytes.ReplaceAll(text, []byte(placeholder), []byte(name)), 0o666); err != nil {
			return err
		}
		written = append(written, path.Join(name, rel))
		return nil
	})
	if err != nil { // a full disk leaves no half of a case
		return nil, fmt.Errorf("new case: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	return written, nil
}
