package host

import (
	"os"
	"path/filepath"
	"testing"
)

// newTree makes a root with the given files.
func newTree(t *testing.T, files map[string]string) tree {
	t.Helper()
	root := tree(t.TempDir())
	for name, content := range files {
		put(t, root, name, content)
	}
	return root
}

func put(t *testing.T, root tree, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(root.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root.path(name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
