//go:build linux

package slowdisk

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
)

// childVariable names the folder for the disk of a process that is to be killed.
const childVariable = "LATLAB_SLOWDISK_CHILD"

// child opens a disk, has a write under way that is never answered, says so, and
// waits to be killed.
func child(dir string) {
	d, err := Open(context.Background(), Config{Dir: dir, Size: 64 * block, Latency: emu.Constant(time.Hour)})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	f, err := d.File()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() {
		fmt.Println(f.Write(context.Background(), rawblock.IO{Buf: blocks(1, 1)}))
	}()
	for d.Counts().Writes == 0 {
		time.Sleep(ms)
	}
	fmt.Println("ready")
	select {}
}

// A process that is killed with a request under way can't end, since it is itself
// who would have to answer. The next Open ends it, and its mount; a living
// process's disk is left alone.
func TestKilledProcessIsCleanedUp(t *testing.T) {
	d := disk(t, Config{Size: 64 * block, Latency: emu.Constant(0)})
	f := device(t, d)
	dir := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childVariable+"="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // when the test fails early
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("child says %q, %v", line, err)
	}
	if n, err := CleanStale(); n != 0 || err != nil {
		t.Errorf("cleaned %d mounts while their processes live, %v", n, err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for { // between taking the signal and becoming a zombie it looks alive
		p, err := readProcess("/proc", c.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if p.dying {
			break
		}
		time.Sleep(ms)
	}
	next, err := Open(t.Context(), Config{Dir: t.TempDir(), Size: 64 * block, Latency: emu.Constant(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("child: %v, want killed", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if n := attached(t); n != 2 { // ours and next
		t.Errorf("%d loop devices, want 2", n)
	}
	write(t, f, 0, blocks(1, 1)) // ours still works
	wantBlock(t, f, 0, 1)
}

// Only mounts that are provably ours and whose process is gone are stale.
func TestStale(t *testing.T) {
	proc := t.TempDir()
	put := func(pid int, state, start, pending string) {
		at := filepath.Join(proc, fmt.Sprint(pid))
		stat := fmt.Sprintf("%d (a b) c) %s %s%s", pid, state, strings.Repeat("0 ", 18), start+" 0 0\n")
		status := fmt.Sprintf("Name:\tx\nSigPnd:\t%s\nShdPnd:\t0000000000000000\n", pending)
		for name, text := range map[string]string{"stat": stat, "status": status} {
			if err := os.MkdirAll(at, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(10, "S", "500", "0000000000000000") // lives
	put(11, "Z", "500", "0000000000000000")
	put(12, "D", "500", "0000000000000100") // killed
	put(13, "S", "500", "0000000000000200") // another signal waits
	line := func(dir, kind, source string) string {
		return fmt.Sprintf("36 35 0:33 / %s rw,nosuid shared:1 master:2 - %s %s rw\n", dir, kind, source)
	}
	for _, test := range []struct {
		name, line string
		stale      bool
	}{
		{"lives", line("/t/latlab-slowdisk-1", fsType, "latlab-slowdisk:7:10:500"), false},
		{"another process by that number now", line("/t/latlab-slowdisk-1", fsType, "latlab-slowdisk:7:10:499"), true},
		{"gone", line("/t/latlab-slowdisk-1", fsType, "latlab-slowdisk:7:99:500"), true},
		{"zombie", line("/t/latlab-slowdisk-1", fsType, "latlab-slowdisk:7:11:500"), true},
		{"killed", line("/t/latlab-slowdisk-1", fsType, "latlab-slowdisk:7:12:500"), true},
		{"another signal", line("/t/latlab-slowdisk-1", fsType, "latlab-slowdisk:7:13:500"), false},
		{"another namespace", line("/t/latlab-slowdisk-1", fsType, "latlab-slowdisk:8:99:500"), false},
		{"another type", line("/t/latlab-slowdisk-1", "fuse.sshfs", "latlab-slowdisk:7:99:500"), false},
		{"another source", line("/t/latlab-slowdisk-1", fsType, "someone:7:99:500"), false},
		{"another folder", line("/home", fsType, "latlab-slowdisk:7:99:500"), false},
		{"no number", line("/t/latlab-slowdisk-1", fsType, "latlab-slowdisk:7:-1:500"), false},
		{"cut off", "36 35 0:33 / /t/latlab-slowdisk-1 rw\n", false},
	} {
		if got := stale(test.line, "7", proc); (len(got) == 1 && got[0] == "/t/latlab-slowdisk-1") != test.stale || !test.stale && len(got) != 0 {
			t.Errorf("%s: %q, want stale: %v", test.name, got, test.stale)
		}
	}
	if got := stale(line(`/a\040b/latlab-slowdisk-1`, fsType, "latlab-slowdisk:7:99:500"), "7", proc); !slices.Equal(got, []string{"/a b/latlab-slowdisk-1"}) {
		t.Errorf("escaped: %q", got)
	}
}
