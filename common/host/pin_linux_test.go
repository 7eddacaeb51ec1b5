package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// allowed is the CPUs that the kernel allows each thread of this process.
func allowed(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(files) == 0 {
		t.Skipf("threads can't be listed: %v", err)
	}
	all := map[string]string{}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil { // a thread may have ended
			all[filepath.Base(filepath.Dir(f))] = cpusOf(string(b))
		}
	}
	return all
}

func cpusOf(status string) string {
	_, rest, _ := strings.Cut(status, "Cpus_allowed_list:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// threads makes sure that there are some, and that some start now.
func threads() {
	done := make(chan struct{})
	const n = 4
	for range n {
		go func() {
			runtime.LockOSThread() // ends with the goroutine, and its thread too
			done <- struct{}{}
		}()
	}
	for range n {
		<-done
	}
}

func TestPin(t *testing.T) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Skip(err)
	}
	cpus := list(&set)
	threads()
	allowed(t) // skips where that can't be seen
	before := cpusOf(system.text("proc/thread-self/status"))
	last := cpus[len(cpus)-1]
	restore, err := Pin(last)
	if err != nil {
		t.Fatal(err)
	}
	threads()
	for tid, got := range allowed(t) {
		if got != strconv.Itoa(last) {
			t.Errorf("thread %s may use %s, want %d", tid, got, last)
		}
	}
	if out, err := exec.Command("cat", "/proc/self/status").Output(); err != nil {
		t.Logf("a child can't be looked at: %v", err)
	} else if got := cpusOf(string(out)); got != strconv.Itoa(last) {
		t.Errorf("a child may use %s, want %d", got, last)
	}

	inner, err := Pin(last) // pins nest
	if err != nil {
		t.Fatal(err)
	}
	if err := inner(); err != nil {
		t.Fatal(err)
	}
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	threads()
	for tid, got := range allowed(t) {
		if got != before {
			t.Errorf("restored: thread %s may use %s, want %s", tid, got, before)
		}
	}
}

func TestPinErrors(t *testing.T) {
	before := allowed(t)
	for _, cpus := range [][]int{{}, {-1}, {maxCPUs}, {maxCPUs - 1}} {
		restore, err := Pin(cpus...)
		if err == nil {
			t.Errorf("no error for CPUs %v: %v", cpus, restore())
		} else if !strings.Contains(err.Error(), "allowed are [") {
			t.Errorf("CPUs %v: error %v names none that are allowed", cpus, err)
		}
	}
	for tid, got := range allowed(t) {
		if was, ok := before[tid]; ok && got != was {
			t.Errorf("thread %s may use %s after errors, want %s", tid, got, was)
		}
	}
}
