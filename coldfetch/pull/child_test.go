package pull_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"latlab.example/coldfetch/fake"
	"latlab.example/coldfetch/pull"
)

// childVariable makes the test binary something else: "serve" is a fake store,
// and "pull ADDR DIR STEP" a process that pulls, and kills itself at that step.
const childVariable = "LATLAB_PULL_CHILD"

func childMain() bool {
	args := strings.Split(os.Getenv(childVariable), " ")
	var err error
	switch args[0] {
	case "serve":
		err = childServe()
	case "pull":
		err = childPull(args[1:])
	default:
		return false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func child(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+strings.Join(args, " "))
	return cmd
}

// childServe is a fake store until its standard input ends.
func childServe() error {
	s, err := fake.New(fake.Config{Buckets: []string{bucket}})
	if err != nil {
		return err
	}
	for name, n := range objects {
		if err := s.Put(bucket, name, content(n, 1)); err != nil {
			return err
		}
	}
	addr, err := s.Start("")
	if err != nil {
		return err
	}
	fmt.Println(addr)
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, s.Close())
}

var objects = map[string]int{"large": 15_000_000, "small": 60_000}

func childPull(args []string) error {
	c, tr, err := client(args[0], nil)
	if err != nil {
		return err
	}
	defer tr.CloseIdleConnections()
	step, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	p, err := pull.New(pull.Options{Client: c, Bucket: bucket, Dir: args[1], FS: &suicidal{FS: pull.OS, left: step}})
	if err != nil {
		return err
	}
	_, _, err = p.Pull(context.Background(), "a")
	return err
}

// suicidal is a file system whose process dies before an operation, or within it
// if that is a write.
type suicidal struct {
	pull.FS
	left int
}

func (s *suicidal) step() bool {
	s.left--
	return s.left == 0
}

func (s *suicidal) die() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // until the signal comes
}

func (s *suicidal) before() {
	if s.step() {
		s.die()
	}
}

func (s *suicidal) CreateTemp(dir, pattern string) (pull.File, error) {
	s.before()
	f, err := s.FS.CreateTemp(dir, pattern)
	return &suicidalFile{f, s}, err
}

func (s *suicidal) MkdirAll(dir string) error             { s.before(); return s.FS.MkdirAll(dir) }
func (s *suicidal) Rename(from, to string) error          { s.before(); return s.FS.Rename(from, to) }
func (s *suicidal) SyncDir(dir string) error              { s.before(); return s.FS.SyncDir(dir) }
func (s *suicidal) Remove(path string) error              { s.before(); return s.FS.Remove(path) }
func (s *suicidal) Stat(path string) (fs.FileInfo, error) { s.before(); return s.FS.Stat(path) }
func (s *suicidal) Names(dir string) ([]string, error)    { s.before(); return s.FS.Names(dir) }

type suicidalFile struct {
	pull.File
	s *suicidal
}

func (f *suicidalFile) Write(p []byte) (int, error) {
	if f.s.step() {
		_, _ = f.File.Write(p[:len(p)/2])
		f.s.die()
	}
	return f.File.Write(p)
}

func (f *suicidalFile) Sync() error  { f.s.before(); return f.File.Sync() }
func (f *suicidalFile) Close() error { f.s.before(); return f.File.Close() }

// A process that is killed at any step leaves no file or a whole one, and the next
// one sweeps and pulls.
func TestProcessIsKilled(t *testing.T) {
	w, addr := loopback(t, fake.Config{})
	body := content(1_000_000, 1)
	if err := w.Put(bucket, "a", body); err != nil {
		t.Fatal(err)
	}
	swept, whole := 0, 0
	for step := 1; ; step++ {
		dir := filepath.Join(t.TempDir(), "docs")
		out, err := child(t.Context(), "pull", addr, dir, strconv.Itoa(step)).CombinedOutput()
		exit := (*exec.ExitError)(nil)
		if err != nil && (!errors.As(err, &exit) || len(out) > 0) {
			t.Fatalf("step %d: %v: %s", step, err, out)
		}
		p, nerr := pull.New(pull.Options{Client: w.client, Bucket: bucket, Dir: dir})
		if nerr != nil {
			t.Fatal(nerr)
		}
		swept += p.Swept()
		path, s, perr := p.Pull(t.Context(), "a")
		if perr != nil {
			t.Fatalf("step %d: %v", step, perr)
		}
		if s.Hit {
			whole++
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("step %d (hit: %v): %d bytes, %v", step, s.Hit, len(got), err)
		}
		names, rerr := os.ReadDir(dir)
		if rerr != nil || len(names) != 1 {
			t.Errorf("step %d: left %v, %v", step, names, rerr)
		}
		if err == nil { // it came to its end
			if step < 10 || swept < 4 || whole < 1 {
				t.Errorf("%d steps, %d temporary files swept, %d whole files: the kills came at other places than meant", step, swept, whole)
			}
			t.Logf("killed at %d steps: %d temporary files swept, %d files whole", step-1, swept, whole)
			return
		}
	}
}
