package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"latlab.example/experiments/explore"
	"latlab.example/experiments/explore/web"
	"latlab.example/experiments/registry"
	"latlab.example/experiments/results"
)

// explored is the page of all models, with these inside it if there are some.
func explored(e env, m *web.Models) (*web.Page, *explore.Catalog, error) {
	c := explore.Models(e.experiments)
	p, err := web.New(web.Input{Catalog: c, Chapters: registry.Chapters(), Build: results.ReadBuild(), Models: m})
	return p, c, err
}

// support is what Go's WebAssembly needs of a browser. It belongs to the Go that
// built the models, and lies beside them.
const support = "wasm_exec.js"

// writeExplored writes the page with the models inside it.
func writeExplored(e env, out, wasm string) error {
	m, err := readModels(wasm)
	if err != nil {
		return fmt.Errorf("report: %w; make explore builds the models for a browser, or name them with --wasm", err)
	}
	p, c, err := explored(e, &m)
	if err != nil {
		return fmt.Errorf("report: %s: %w", wasm, err)
	}
	size, err := writeWhole(out, p)
	if err != nil {
		return fmt.Errorf("report: %w; name another file with --out", err)
	}
	full, err := filepath.Abs(out)
	if err != nil {
		full = out
	}
	fmt.Fprintf(e.out, "%s (%d KiB): %s with a model, to explore; all of it is modelled\n", full, (size+1023)/1024, count(len(c.Experiments), "experiment"))
	return nil
}

// readModels reads the models and, beside them, what they need of a browser.
func readModels(wasm string) (m web.Models, err error) {
	if wasm == "" {
		self, err := os.Executable()
		if err != nil {
			return m, err
		}
		wasm = filepath.Join(filepath.Dir(self), "explore.wasm")
	}
	if m.Wasm, err = os.ReadFile(wasm); err != nil {
		return m, err
	}
	m.Support, err = os.ReadFile(filepath.Join(filepath.Dir(wasm), support))
	return m, err
}
