package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"latlab.example/common/host"
)

func TestMain(m *testing.M) {
	Register("echo", func(_ context.Context, in io.Reader, out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	})
	Register("procs", func(_ context.Context, _ io.Reader, out io.Writer) error {
		_, err := fmt.Fprintln(out, runtime.GOMAXPROCS(0))
		return err
	})
	Register("host", func(ctx context.Context, _ io.Reader, out io.Writer) error {
		f, err := host.Read(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, f.CPUQuota)
		return err
	})
	Register("fail", func(context.Context, io.Reader, io.Writer) error { return errors.New("no luck today") })
	Register("panic", func(context.Context, io.Reader, io.Writer) error { panic("at the disco") })
	Register("hang", func(_ context.Context, _ io.Reader, out io.Writer) error {
		if _, err := fmt.Fprintln(out, "here"); err != nil {
			return err
		}
		select {}
	})
	Register("grandchild", func(ctx context.Context, in io.Reader, out io.Writer) error {
		p, err := Start(ctx, "echo", Limits{})
		if err != nil {
			return err
		}
		if _, err := io.Copy(p.In, in); err != nil {
			return err
		}
		if err := p.In.Close(); err != nil {
			return err
		}
		if _, err := io.Copy(out, p.Out); err != nil {
			return err
		}
		return p.Wait()
	})
	Main()
	goleak.VerifyTestMain(m)
}

// say runs a child with an input and gives its output.
func say(t *testing.T, name, in string, l Limits) (string, error) {
	t.Helper()
	p, err := Start(t.Context(), name, l)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(p.In, in); err != nil {
		t.Error(err)
	}
	if err := p.In.Close(); err != nil {
		t.Error(err)
	}
	out, err := io.ReadAll(p.Out)
	if err != nil {
		t.Error(err)
	}
	return string(out), p.Wait()
}

func TestChildTalks(t *testing.T) {
	for _, name := range []string{"echo", "grandchild"} {
		if got, err := say(t, name, "stage by stage", Limits{}); err != nil || got != "stage by stage" {
			t.Errorf("%s said %q, %v", name, got, err)
		}
	}
}

func TestErrorsTravel(t *testing.T) {
	for name, want := range map[string]string{"fail": "no luck today", "panic": "at the disco"} {
		if _, err := say(t, name, "", Limits{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", name, err, want)
		}
	}
}

func TestUnknownFunction(t *testing.T) {
	if _, err := Start(t.Context(), "nobody", Limits{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v, want ErrUnknown", err)
	}
}

func TestWithoutMain(t *testing.T) {
	ready.Store(false)
	defer ready.Store(true)
	if _, err := Start(t.Context(), "echo", Limits{}); !errors.Is(err, ErrNoMain) {
		t.Errorf("%v, want ErrNoMain", err)
	}
}

func TestContextKills(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Start(ctx, "hang", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(p.Out).ReadString('\n'); line != "here\n" {
		t.Fatalf("%q, %v", line, err)
	}
	cancel()
	if err := p.Wait(); err == nil {
		t.Error("a killed child ended without an error")
	}
}

func TestKill(t *testing.T) {
	p, err := Start(t.Context(), "hang", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	p.Kill()
	if p.CPU() < 0 {
		t.Error("negative processor time")
	}
}

func TestMaxProcs(t *testing.T) {
	if got, err := say(t, "procs", "", Limits{MaxProcs: 3}); err != nil || got != "3\n" {
		t.Errorf("GOMAXPROCS %q, %v, want 3", got, err)
	}
}

func TestPinnedToOneCPU(t *testing.T) {
	got, err := say(t, "procs", "", Limits{CPUs: []int{0}})
	if runtime.GOOS != "linux" {
		if err == nil || !strings.Contains(err.Error(), errors.ErrUnsupported.Error()) {
			t.Errorf("%v, want unsupported", err)
		}
		return
	}
	if err != nil || got != "1\n" {
		t.Errorf("GOMAXPROCS %q, %v, want 1", got, err)
	}
	if _, err := say(t, "procs", "", Limits{CPUs: []int{9999}}); err == nil {
		t.Error("a CPU that isn't there was taken")
	}
}

func TestTail(t *testing.T) {
	var b tail
	for i := range 3000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	if s := b.String(); len(s) > tailSize || !strings.HasSuffix(s, "line 2999") {
		t.Errorf("%d bytes, ends with %q", len(s), s[max(0, len(s)-20):])
	}
}
