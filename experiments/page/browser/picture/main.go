// Command picture makes a PNG of a report's top.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"latlab.example/experiments/page/browser"
)

func main() {
	report := flag.String("report", "report.html", "report to open")
	out := flag.String("out", "report.png", "file to write")
	height := flag.Int("height", 1500, "of the picture, in pixels; 0 for the whole page")
	dark := flag.Bool("dark", false, "as a reader with a dark screen sees it")
	flag.Parse()
	if err := run(*report, *out, *height, *dark); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(report, out string, height int, dark bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, stop, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	view := browser.Desk
	view.Dark = dark
	tab, _, done, err := browser.Open(b, report, view)
	if err != nil {
		return err
	}
	defer done()
	png, err := browser.Picture(tab, view, height)
	if err != nil {
		return err
	}
	return os.WriteFile(out, png, 0o644)
}
