package aerospike_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"latlab.example/aerospike/fake"
)

// childVariable makes the test binary a fake server in a process of its own, so
// that the client's CPU and the fake's can be told apart.
const childVariable = "LATLAB_TEST_FAKE_CHILD"

// child serves the benchmarks' records until its input ends.
func child() {
	c, err := fake.New(fake.Config{})
	if err == nil {
		records(new(testing.B), c, query(benchSets, benchKeys))
		fmt.Println(c.Addrs()[0])
		_, _ = io.Copy(io.Discard, os.Stdin)
		err = c.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The sizes of the study: 9 sets of 200 keys, here with 8 bins.
const benchSets, benchKeys = 9, 200

// separate starts the child. stop ends it and gives its CPU time in seconds.
func separate(b *testing.B) (addr string, stop func() float64) {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), exe)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return line[:len(line)-1], func() float64 {
		if err := in.Close(); err != nil {
			b.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
		return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	}
}
