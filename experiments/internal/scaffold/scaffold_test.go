package scaffold

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The skeleton is built, vetted and tested as a user's own case would be, in a
// workspace with this repository's common module.
func TestSkeletonPassesLabtest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module")
	}
	root := t.TempDir()
	written, err := Write(root, "queueing")
	if err != nil {
		t.Fatal(err)
	}
	if len(written) < 6 {
		t.Errorf("wrote %v", written)
	}
	common, err := filepath.Abs(filepath.Join("..", "..", "..", "common"))
	if err != nil {
		t.Fatal(err)
	}
	// The skeleton looks for its neighbour beside it.
	if err := os.Symlink(common, filepath.Join(root, "common")); err != nil {
		t.Fatal(err)
	}
	const work = "go 1.26.0\n\nuse (\n\t./common\n\t./queueing\n)\n"
	if err := os.WriteFile(filepath.Join(root, "go.work"), []byte(work), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"vet", "./..."},
		{"test", "./..."},
		{"test", "-run", "^$", "-bench", ".", "-benchtime", "1x", "./study"},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = filepath.Join(root, "queueing")
		cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(root, "go.work"), "GOFLAGS=-mod=readonly")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), "gofmt", "-l", ".")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %v\n%s", err, out)
	}
}

func TestRefuses(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"", "Case", "my-case", "1st", "../x", "common", "main", "a/b"} {
		if _, err := Write(root, name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v, want ErrName", name, err)
		}
	}
	if _, err := Write(root, "twice"); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(root, "twice"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("twice: %v, want that it exists", err)
	}
}
