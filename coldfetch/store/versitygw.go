package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"latlab.example/common/lab"
)

// Version of versitygw, and the package that `go install` builds. It is under the
// Apache licence, version 2.0.
const (
	Version = "v1.8.0"
	pkg     = "github.com/versity/versitygw/cmd/versitygw"
)

// ExeVariable names the program, if it isn't in a folder .bin above.
const ExeVariable = "LATLAB_VERSITYGW"

func exeName() string {
	name := "versitygw-" + Version
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

// Find looks for the program that Build built: in .bin in the working folder, and
// in those above. The error is a *lab.Unavailable.
func Find() (string, error) {
	missing := func(why string) error {
		return &lab.Unavailable{Need: "s3", Why: why, Do: "run make deps, which builds it once; or name a store in " + EndpointVariable}
	}
	if exe := os.Getenv(ExeVariable); exe != "" {
		if info, err := os.Stat(exe); err != nil || info.IsDir() {
			return "", missing(ExeVariable + "=" + exe + " is no program")
		}
		return exe, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", missing(err.Error())
	}
	for {
		exe := filepath.Join(dir, ".bin", exeName())
		if info, err := os.Stat(exe); err == nil && info.Mode().IsRegular() {
			return exe, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", missing("versitygw " + Version + " isn't built")
		}
		dir = up
	}
}

// Build builds the program into dir, if it isn't there, and returns its path. It
// takes minutes of CPU, and needs the go command and a module proxy. What the go
// command says goes to log.
func Build(ctx context.Context, dir string, log io.Writer) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, exeName())
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(dir, "versitygw-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, "go", "install", pkg+"@"+Version)
	cmd.Dir, cmd.Stdout, cmd.Stderr = tmp, log, log
	cmd.Env = append(os.Environ(), "GOBIN="+tmp, "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("store: go install %s@%s: %w; see what the go command says above", pkg, Version, err)
	}
	built := filepath.Join(tmp, "versitygw")
	if runtime.GOOS == "windows" {
		built += ".exe"
	}
	return exe, os.Rename(built, exe)
}

// Options of a server that Start starts.
type Options struct {
	Addr string // 127.0.0.1 and a free port if empty
	Dir  string // where it keeps objects; a temporary folder, removed by Close, if empty
}

// Server is a versitygw that runs.
type Server struct {
	Account
	cmd  *exec.Cmd
	out  *logTail
	done chan struct{} // closed when the process has ended
	dir  string
	temp bool
}

// Start starts the program on loopback, with keys of its own, and waits until it
// answers. Objects become files, so the file system must have extended
// attributes, or, as on a tmpfs of old, it says so. The caller closes the server.
func Start(ctx context.Context, exe string, o Options) (s *Server, err error) {
	for range 3 { // another process may take the port
		var retry bool
		if s, retry, err = start(ctx, exe, o); err == nil || !retry {
			return s, err
		}
	}
	return nil, err
}

func start(ctx context.Context, exe string, o Options) (_ *Server, retry bool, err error) {
	s := &Server{dir: o.Dir, done: make(chan struct{}), out: &logTail{}}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp(os.Getenv(lab.DirVariable), "latlab-s3-"); err != nil {
			return nil, false, err
		}
		s.temp = true
	}
	fail := func(err error) (*Server, bool, error) {
		return nil, o.Addr == "", errors.Join(fmt.Errorf("store: start %s: %w", exe, err), s.Close())
	}
	data, iam := filepath.Join(s.dir, "data"), filepath.Join(s.dir, "iam")
	for _, d := range []string{data, iam} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fail(err)
		}
	}
	addr := o.Addr
	if addr == "" {
		if addr, err = freePort(); err != nil {
			return fail(err)
		}
	}
	secret, err := randomHex()
	if err != nil {
		return fail(err)
	}
	s.Account = Account{Endpoint: addr, AccessKey: "latlab", SecretKey: secret, Region: "us-east-1"}
	s.cmd = exec.Command(exe, "--port", addr, "--keep-alive", "--health", "/health", "--quiet", "--region", s.Region, "--iam-dir", iam, "posix", data)
	s.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s.AccessKey, "ROOT_SECRET_KEY="+secret)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return fail(err)
	}
	go func() {
		_ = s.cmd.Wait() // healthy says how it ended, and Close ends it
		close(s.done)
	}()
	if err := s.healthy(ctx); err != nil {
		return fail(err)
	}
	return s, false, nil
}

// healthy waits until the server answers.
func (s *Server) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Endpoint+"/health", nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.done:
			return fmt.Errorf("it ended (%s): %s", s.cmd.ProcessState, s.out)
		case <-ctx.Done():
			return fmt.Errorf("it doesn't answer at %s: %w: %s", s.Endpoint, ctx.Err(), s.out)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Close ends the server, and removes its folder if Start made it.
func (s *Server) Close() (err error) {
	if s.cmd != nil {
		if ierr := s.cmd.Process.Signal(os.Interrupt); ierr != nil {
			_ = s.cmd.Process.Kill() // Windows has no interrupt; a process that is gone is well
		}
		select {
		case <-s.done:
		case <-time.After(3 * time.Second):
			err = s.cmd.Process.Kill()
			<-s.done
		}
	}
	if s.temp {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func randomHex() (string, error) {
	var raw [16]byte
	_, err := rand.Read(raw[:])
	return hex.EncodeToString(raw[:]), err
}

// logTail keeps the last of what the server says.
type logTail struct {
	mu  sync.Mutex
	buf []byte // guarded by mu
}

func (l *logTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	if n := len(l.buf) - 4096; n > 0 {
		l.buf = append(l.buf[:0], l.buf[n:]...)
	}
	return len(p), nil
}

func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.TrimSpace(l.buf))
}
