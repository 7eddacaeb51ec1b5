//go:build !js

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "explore-wasm is for a browser: build it with GOOS=js GOARCH=wasm, as make explore does; on a host use latlab serve")
	os.Exit(2)
}
