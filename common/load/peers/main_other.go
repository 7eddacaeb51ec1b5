//go:build !unix

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "peers: it measures CPU time by getrusage, which this system lacks: run it on Linux or macOS")
	os.Exit(1)
}
