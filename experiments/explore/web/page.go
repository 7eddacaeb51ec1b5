package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"

	"latlab.example/experiments/explore"
	"latlab.example/experiments/page"
	"latlab.example/experiments/results"
)

// ErrModels occurs when what should be the models isn't WebAssembly.
var ErrModels = errors.New("not WebAssembly")

// Models are the program explore-wasm, built for a browser.
type Models struct {
	Wasm    []byte
	Support []byte // wasm_exec.js of the Go that built it
}

// Input is what a page is made of. The same input gives the same bytes.
type Input struct {
	Catalog  *explore.Catalog
	Chapters map[string]string // Markdown, by case
	Build    results.Build
	// Models are inside the page; without them it asks the server that it came from.
	Models *Models
}

// Page is a page that is ready to be written.
type Page struct {
	view   view
	policy string
}

// view is what the template shows.
type view struct {
	Style         template.CSS
	Script        template.JS
	Policy        string
	Commit        string
	Cases         []caseView
	Catalog       template.JS   // JSON
	Wasm, Support template.HTML // base64; empty if the page is served
	Count         int
}

type caseView struct {
	Name    string
	Chapter template.HTML
	Asks    []ask
}

// ask is an experiment in a list.
type ask struct {
	Name, Question string
	Href           template.URL
}

var (
	//go:embed page.gohtml
	markup string
	//go:embed style.css
	style string
	//go:embed draw.js
	draw string
	//go:embed page.js
	script string
	//go:embed worker.js
	worker string

	parsed = template.Must(template.New("page").Parse(markup))
)

// New renders the chapters and packs the models. The error wraps ErrModels.
func New(in Input) (*Page, error) {
	v := view{Style: template.CSS(page.Style() + style), Commit: in.Build.Commit, Count: len(in.Catalog.Experiments)}
	catalog, err := json.Marshal(in.Catalog) // escapes what could end a script
	if err != nil {
		return nil, err
	}
	v.Catalog = template.JS(catalog)
	v.Script = template.JS(draw + script)
	if m := in.Models; m != nil {
		if !bytes.HasPrefix(m.Wasm, []byte("\x00asm")) {
			return nil, ErrModels
		}
		if v.Wasm, err = packed(m.Wasm); err != nil {
			return nil, err
		}
		if v.Support, err = packed(append(slices.Clone(m.Support), "\n"+worker...)); err != nil {
			return nil, err
		}
	}
	var cases []string
	for _, e := range in.Catalog.Experiments {
		if !slices.Contains(cases, e.Case) {
			cases = append(cases, e.Case)
		}
	}
	for _, name := range cases {
		c := caseView{Name: name}
		for _, e := range in.Catalog.Experiments {
			if e.Case == name {
				c.Asks = append(c.Asks, ask{e.Name, e.Question, template.URL("#/" + e.Name)})
			}
		}
		if c.Chapter, err = chapter(name, cases, in.Chapters[name]); err != nil {
			return nil, err
		}
		v.Cases = append(v.Cases, c)
	}
	p := &Page{policy: policy(string(v.Style), string(v.Script), in.Models != nil)}
	v.Policy = p.policy
	p.view = v
	return p, nil
}

// Write writes the page. It returns the error of w.
func (p *Page) Write(w io.Writer) error {
	var out bytes.Buffer
	if err := parsed.Execute(&out, p.view); err != nil {
		return fmt.Errorf("explore: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// packed is gzip in base64, as the page unpacks it.
func packed(data []byte) (template.HTML, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return template.HTML(base64.StdEncoding.EncodeToString(out.Bytes())), nil
}

// policy allows this style and this script, and beside them the server that the
// page came from, or a worker with the models inside.
func policy(style, script string, models bool) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	p := "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src " + hash(style) + "; script-src " + hash(script)
	if models {
		return p + " 'wasm-unsafe-eval'; worker-src blob:"
	}
	return p + "; connect-src 'self'"
}
