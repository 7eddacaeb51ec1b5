package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"latlab.example/common/host"
)

// ErrNoMain occurs when Start is called in a program that didn't call Main: its
// children would run the program from the start, and start children.
var ErrNoMain = errors.New("the program doesn't call child.Main first")

// ErrUnknown occurs when no function is registered under a name.
var ErrUnknown = errors.New("no function registered under this name")

// Func is what runs in a child. The child's exit code is 0 if it returns nil.
type Func func(ctx context.Context, in io.Reader, out io.Writer) error

// Limits are what a child is allowed.
type Limits struct {
	// CPUs are those that all its threads run on; none means all of the parent's.
	CPUs []int
	// Quota is its share of CPU time, in cores, kept by the kernel's cgroups; 0
	// means no limit. It needs Linux and the right to make a cgroup.
	Quota float64
	// MaxProcs is GOMAXPROCS; 0 leaves it to Go, which goes by CPUs and Quota.
	MaxProcs int
}

// order is what a parent tells its child, in the environment.
type order struct {
	Func   string
	Limits Limits
	Group  string // the cgroup's folder, empty if there is no quota
}

const variable = "LATLAB_CHILD"

var (
	mu        sync.Mutex
	functions = map[string]Func{}
	ready     atomic.Bool
)

// Register names a function that Start can run. It panics if the name is taken.
// Call it from init or before Main.
func Register(name string, f Func) {
	mu.Lock()
	defer mu.Unlock()
	if functions[name] != nil {
		panic(fmt.Sprintf("child: function %q is registered twice", name))
	}
	functions[name] = f
}

func lookUp(name string) (Func, error) {
	mu.Lock()
	defer mu.Unlock()
	f := functions[name]
	if f == nil {
		return nil, fmt.Errorf("child: %w: %q", ErrUnknown, name)
	}
	return f, nil
}

// Main is called first in main, or in TestMain. It returns at once in a process
// that isn't a child. In a child it runs the function that the parent asked for
// and exits.
func Main() {
	text, ok := os.LookupEnv(variable)
	if !ok {
		ready.Store(true)
		return
	}
	// The child's own children are told anew.
	if err := os.Unsetenv(variable); err != nil {
		fail(err)
	}
	ready.Store(true)
	if err := obey(text); err != nil {
		fail(err)
	}
	os.Exit(0)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func obey(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("child: read %s: %w", variable, err)
	}
	f, err := lookUp(o.Func)
	if err != nil {
		return err
	}
	if len(o.Limits.CPUs) > 0 {
		if _, err := host.Pin(o.Limits.CPUs...); err != nil {
			return fmt.Errorf("child: %w", err)
		}
	}
	if o.Group != "" {
		if err := join(o.Group); err != nil {
			return fmt.Errorf("child: %w", err)
		}
	}
	if o.Limits.MaxProcs > 0 {
		runtime.GOMAXPROCS(o.Limits.MaxProcs)
	} else {
		runtime.SetDefaultGOMAXPROCS()
	}
	return f(context.Background(), os.Stdin, os.Stdout)
}

// Process is a child. In and Out may be used by one goroutine each.
type Process struct {
	In  io.WriteCloser
	Out io.Reader

	name   string
	cmd    *exec.Cmd
	stderr *tail
	group  *quota
	cancel context.CancelFunc
	wait   func() error
}

// Start runs a registered function in a fresh process of this program. The
// process is killed when ctx ends. The caller calls Wait or Kill. Errors wrap
// ErrNoMain, ErrUnknown, or errors.ErrUnsupported where the host knows no such
// limits.
func Start(ctx context.Context, name string, l Limits) (*Process, error) {
	if !ready.Load() {
		return nil, fmt.Errorf("child: start %q: %w", name, ErrNoMain)
	}
	if _, err := lookUp(name); err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("child: start %q: %w", name, err)
	}
	o := order{Func: name, Limits: l}
	var group *quota
	if l.Quota != 0 {
		if group, err = newQuota(l.Quota); err != nil {
			return nil, fmt.Errorf("child: start %q: %w", name, err)
		}
		o.Group = group.dir
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("child: start %q: %w", name, err), group.remove())
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &Process{name: name, stderr: new(tail), group: group, cancel: cancel}
	p.cmd = exec.CommandContext(ctx, exe)
	p.cmd.Env = append(os.Environ(), variable+"="+string(text))
	p.cmd.Stderr = p.stderr
	// A grandchild that keeps standard error open must not keep Wait.
	p.cmd.WaitDelay = 2 * time.Second
	apart(p.cmd)
	p.wait = sync.OnceValue(p.end)
	if p.In, err = p.cmd.StdinPipe(); err == nil {
		if p.Out, err = p.cmd.StdoutPipe(); err == nil {
			err = p.cmd.Start()
		}
	}
	if err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("child: start %q: %w", name, err), group.remove())
	}
	return p, nil
}

// Pid is the child's process number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Wait closes the child's input, waits for its end and returns its error: what
// it wrote to standard error, if it didn't exit with 0. Read Out to its end
// before. Further calls return the same.
func (p *Process) Wait() error { return p.wait() }

// Kill ends the child at once and waits for its end. It is no error that the
// child was running, or had failed before.
func (p *Process) Kill() {
	p.cancel()
	_ = p.wait()
}

// CPU is the processor time that the child and those it waited for have used,
// user and system. It is 0 before Wait or Kill has returned.
func (p *Process) CPU() time.Duration {
	if s := p.cmd.ProcessState; s != nil {
		return s.UserTime() + s.SystemTime()
	}
	return 0
}

func (p *Process) end() error {
	defer p.cancel()
	_ = p.In.Close() // already closed is fine
	err := p.cmd.Wait()
	if err != nil {
		if text := p.stderr.String(); text != "" {
			err = fmt.Errorf("child: %q: %w: %s", p.name, err, text)
		} else {
			err = fmt.Errorf("child: %q: %w", p.name, err)
		}
	}
	return errors.Join(err, p.group.remove())
}

// tail keeps the last bytes written: enough for an error and some stacks.
type tail struct{ b []byte }

const tailSize = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if over := len(t.b) - tailSize; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string { return string(bytes.TrimSpace(t.b)) }
