//go:build unix

package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"latlab.example/common/emu"
)

// The test binary is the server, too, as the command is.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-server") {
		main()
		return
	}
	os.Exit(m.Run())
}

// Both make the same number of requests, and the table has a line for each.
func TestCompare(t *testing.T) {
	var out strings.Builder
	err := compare(io.MultiWriter(&out, t.Output()), []generator{{"vegeta", byVegeta}, {"load", withWaiter(emu.Sleep)}}, 100, 200*time.Millisecond, 2)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		if len(fields) > 2 && (fields[0] == "vegeta" || fields[0] == "load") {
			rows++
			if fields[1] != "20" {
				t.Errorf("%s made %s requests, want 20", fields[0], fields[1])
			}
		}
	}
	if rows != 2 {
		t.Errorf("%d rows of generators, want 2", rows)
	}
}
