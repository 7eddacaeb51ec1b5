// Command latlab runs storage-latency experiments whose figures never travel
// without their provenance. See latlab --help.
package main

import (
	"os"

	"latlab.example/common/lab"
	"latlab.example/experiments/internal/cli"
	"latlab.example/experiments/registry"
)

func main() {
	lab.Main(registry.All()...)
	os.Exit(cli.Main(registry.All()))
}
