package bubble_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"latlab.example/common/bubble"
)

// Some runs leave goroutines behind, or may crash. They are made in a child
// process: the test binary again, with childEnv naming one of children.
const childEnv = "BUBBLE_TEST_CHILD"

var children = map[string]func(){
	"alive": func() {
		err := bubble.Run(context.Background(), func(context.Context) error {
			time.Sleep(time.Hour)
			if h := time.Now().UTC().Hour(); h != 1 {
				return fmt.Errorf("it is %d o'clock", h)
			}
			return nil
		})
		fmt.Println("sleep:", err)
		err = bubble.Run(context.Background(), func(ctx context.Context) error {
			return bubble.Run(ctx, func(context.Context) error { return nil })
		})
		fmt.Println("nested:", errors.Is(err, bubble.ErrNested))
		err = bubble.Run(context.Background(), lock)
		fmt.Println("deadlock:", errors.Is(err, bubble.ErrDeadlock))
		var blocked *bubble.BlockedError
		if errors.As(err, &blocked) {
			fmt.Println("goroutines:", len(blocked.Goroutines))
		}
	},
	"deadlock": func() { fmt.Println(bubble.Run(context.Background(), lock)) },
	// The same with a context that can end, which is looked at from a timer.
	"deadlock beside a context": func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		fmt.Println(bubble.Run(ctx, lock))
	},
	"leak": func() {
		fmt.Println(bubble.Run(context.Background(), func(context.Context) error {
			n := bubble.NewNet(bubble.Link{})
			l, err := n.Listen("a:1")
			if err != nil {
				return err
			}
			for range 3 {
				go accept(l.Accept)
			}
			return errors.New("and an error of its own")
		}))
	},
	"panic": func() {
		fmt.Println(bubble.Run(context.Background(), func(context.Context) error {
			go lock(context.Background())
			panic("boom")
		}))
	},
}

func lock(context.Context) error {
	a, b := make(chan int), make(chan int)
	go func() {
		<-a
		b <- 1
	}()
	<-b
	a <- 1
	return nil
}

func accept[T any](f func() (T, error)) { _, _ = f() }

func runChild(t *testing.T, name string) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// If this test fails, the Go release has changed what the package relies on:
// that synctest.Test takes a zero testing.T, or how a dump of goroutines names
// bubbles. It looks at a child process, as the change may show as a crash.
func TestGoReleaseStillAllowsBubbles(t *testing.T) {
	const want = "sleep: <nil>\nnested: true\ndeadlock: true\ngoroutines: 2\n"
	if out, err := runChild(t, "alive"); err != nil || out != want {
		t.Fatalf("with %s a bubble gives %v\n%s\nwant\n%s", runtime.Version(), err, out, want)
	}
}

// The errors for goroutines that are left, in full.
func TestBlockedErrors(t *testing.T) {
	const deadlock = `bubble: deadlock: 2 goroutines: every goroutine waits for another one and no timer is set
	1 x chan receive (durable) in latlab.example/common/bubble_test.lock (child_test.go:N)
	1 x chan receive (durable) in latlab.example/common/bubble_test.lock.func1 (child_test.go:N), started by latlab.example/common/bubble_test.lock (child_test.go:N)
`
	for name, want := range map[string]string{
		"deadlock":                  deadlock,
		"deadlock beside a context": deadlock,
		"leak": `and an error of its own
bubble: goroutines are left: 3 goroutines: end every goroutine before returning: close servers, idle connections and pools, stop tickers
	3 x sync.Cond.Wait (durable) in latlab.example/common/bubble.(*listener).Accept (net.go:N), for latlab.example/common/bubble_test.accept[...] (child_test.go:N), started by latlab.example/common/bubble_test.init.func5 (child_test.go:N)
`,
	} {
		t.Run(name, func(t *testing.T) {
			out, err := runChild(t, name)
			got := regexp.MustCompile(`\.go:\d+`).ReplaceAllString(out, ".go:N")
			got = regexp.MustCompile(`init\.func\d+(\.\d+)*`).ReplaceAllString(got, "init.func5")
			if err != nil || got != want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
			}
		})
	}
	if out, err := runChild(t, "panic"); err != nil || !strings.HasPrefix(out, "bubble: panic: boom\ngoroutine ") ||
		!strings.Contains(out, "\nbubble: goroutines are left: 2 goroutines:") {
		t.Errorf("a panic with goroutines left: %v\n%s", err, out)
	}
}

func TestParseGoroutine(t *testing.T) {
	for name, tt := range map[string]struct {
		stack string
		want  bubble.Goroutine
	}{
		"standard library, for the user": {`goroutine 39 [select (durable), 2 minutes, synctest bubble 3]:
net/http.(*persistConn).roundTrip(0xc000123, {0x1, 0x2})
	/usr/local/go/src/net/http/transport.go:2852 +0x7f
net/http.(*Client).Do(...)
	/usr/local/go/src/net/http/client.go:585
main.(*user).ask(0xc0001, 0x3)
	/home/me/app/user.go:33 +0x12
main.main.func1()
	/home/me/app/main.go:21 +0x12
created by main.main in goroutine 1
	/home/me/app/main.go:20 +0x99`, bubble.Goroutine{
			State: "select (durable)", In: "net/http.(*persistConn).roundTrip (transport.go:2852)",
			For: "main.(*user).ask (user.go:33)", Creator: "main.main (main.go:20)",
		}},
		"mutex on Windows": {`goroutine 8 [sync.Mutex.Lock]:
internal/sync.runtime_SemacquireMutex(0x0?, 0x0?, 0x0?)
	C:/Program Files/Go/src/runtime/sema.go:95 +0x25
sync.(*Mutex).Lock(...)
	C:/Program Files/Go/src/sync/mutex.go:46
example.org/x.f[...](0x1)
	C:/Users/me/x/f.go:9 +0x1
`, bubble.Goroutine{State: "sync.Mutex.Lock", In: "example.org/x.f[...] (f.go:9)"}},
		"standard library alone": {`goroutine 8 [IO wait]:
internal/poll.runtime_pollWait(0x1, 0x72)
	/usr/local/go/src/runtime/netpoll.go:351 +0x85
net.(*conn).Read(0xc000012, {0xc, 0x1, 0x1})
	/usr/local/go/src/net/net.go:196 +0x4`, bubble.Goroutine{State: "IO wait", In: "net.(*conn).Read (net.go:196)"}},
		"nothing but a head": {"goroutine 8 [running]:", bubble.Goroutine{State: "running"}},
		"nothing":            {"", bubble.Goroutine{}},
	} {
		if got := bubble.ParseGoroutine(tt.stack); got != tt.want {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, tt.want)
		}
	}
}

func TestBlockedErrorIsShort(t *testing.T) {
	e := &bubble.BlockedError{Kind: bubble.ErrLeak}
	for i := range 50 {
		e.Goroutines = append(e.Goroutines, bubble.Goroutine{State: "sleep", In: fmt.Sprint("f", i/2)})
	}
	s := e.Error()
	if n := strings.Count(s, "\n"); n != 21 {
		t.Errorf("%d lines, want 20 and one for the rest:\n%s", n, s)
	}
	if !strings.Contains(s, "2 x sleep in f0\n") || !strings.HasSuffix(s, "and 5 other places") {
		t.Errorf("got\n%s", s)
	}
}
