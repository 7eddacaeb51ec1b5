// Package sleepcheck looks for sleeps in the source of a fake. A fake gets its
// waiter from the rig; a sleep of its own would be a millisecond late in
// wall-clock time. It is a package of its own, for tests, so that fakes don't
// link a parser.
package sleepcheck

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNothingToCheck is wrapped by the error for a folder without Go files, and
// for an exception that names no file of the folder.
var ErrNothingToCheck = errors.New("no such Go file")

// sleeps are the functions of package time that pass time.
var sleeps = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Sleep", "Tick"}

// Find returns each use of time.Sleep, After, AfterFunc, NewTicker, NewTimer
// and Tick in the Go files of a folder, as "file.go:12:3: time.Sleep". It
// sees other names of an import, and uses that aren't calls. It looks at all
// build tags, but not at tests, subfolders, or files named in except.
//
// It reads syntax alone: a local variable that hides the name of the import is
// taken for the import, and with a dot import any use of such a name counts.
func Find(dir string, except ...string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("sleepcheck: %w", err)
	}
	var found, files []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		files = append(files, name)
		if slices.Contains(except, name) {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("sleepcheck: %w", err)
		}
		for _, use := range uses(f) {
			pos := fset.Position(use.Pos())
			found = append(found, fmt.Sprintf("%s:%d:%d: time.%s", name, pos.Line, pos.Column, use.Name))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("sleepcheck: %s: %w: is this the fake's folder?", dir, ErrNothingToCheck)
	}
	for _, name := range except {
		if !slices.Contains(files, name) {
			return nil, fmt.Errorf("sleepcheck: %s: exception %s: %w: drop the exception", dir, name, ErrNothingToCheck)
		}
	}
	return found, nil
}

// uses returns the identifiers in f that stand for one of the sleeps.
func uses(f *ast.File) []*ast.Ident {
	names, dot := imports(f)
	var found []*ast.Ident
	selected := map[*ast.Ident]bool{} // names after a dot
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			selected[n.Sel] = true
			x, ok := n.X.(*ast.Ident)
			if ok && slices.Contains(names, x.Name) && slices.Contains(sleeps, n.Sel.Name) {
				found = append(found, n.Sel)
			}
		case *ast.Ident:
			if dot && !selected[n] && slices.Contains(sleeps, n.Name) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// imports returns the names that f gives to package time, and whether a dot is
// one of them.
func imports(f *ast.File) (names []string, dot bool) {
	for _, spec := range f.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err != nil || path != "time" {
			continue
		}
		switch {
		case spec.Name == nil:
			names = append(names, "time")
		case spec.Name.Name == ".":
			dot = true
		default:
			names = append(names, spec.Name.Name)
		}
	}
	return names, dot
}
