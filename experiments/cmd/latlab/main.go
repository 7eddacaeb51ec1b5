// Command latlab runs storage-latency experiments whose figures never travel
// without their provenance. See latlab --help.
package main

import (
	"os"

	"latlab.example/experiments/internal/cli"
	"latlab.example/experiments/registry"
)

func main() { os.Exit(cli.Main(registry.All())) }
