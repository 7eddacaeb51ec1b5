package web

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// chapter is a case's README as HTML. Its headings are one level lower, since the
// page has its own; links to files are left as text, those to another case's
// chapter lead there. Raw HTML and pictures in it are left out.
func chapter(name string, cases []string, markdown string) (template.HTML, error) {
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(wideTables{}, 100))),
	)
	source := []byte(markdown)
	doc := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext()))
	var links []ast.Node
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if entering {
				n.Level = min(n.Level+1, 6)
			}
		case *ast.Link, *ast.Image:
			if entering {
				links = append(links, n)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", err
	}
	for _, n := range links {
		if l, ok := n.(*ast.Link); ok {
			if to := target(name, cases, string(l.Destination)); to != "" {
				l.Destination = []byte(to)
				continue
			}
		}
		unwrap(n)
	}
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, source, doc); err != nil {
		return "", fmt.Errorf("chapter of %s: %w", name, err)
	}
	// Text can't have a tag in it: goldmark escapes it, and leaves raw HTML out.
	html := strings.ReplaceAll(out.String(), "<pre>", `<pre tabindex="0">`)
	return template.HTML(html), nil
}

// target is where a link of a chapter leads on the page, or empty if nowhere.
func target(name string, cases []string, to string) string {
	u, err := url.Parse(to)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "https" || u.Scheme == "http":
		return to
	case u.Scheme != "" || u.Host != "":
		return ""
	}
	other, file := path.Split(path.Join(name, u.Path))
	if other = strings.TrimSuffix(other, "/"); file == "README.md" && slices.Contains(cases, other) {
		return "#/" + other
	}
	return ""
}

// unwrap puts what a node holds in the node's place.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		parent.InsertBefore(parent, n, c)
		c = next
	}
	parent.RemoveChild(parent, n)
}

// wideTables lets a table that is wider than the screen be scrolled by itself.
type wideTables struct{}

// RegisterFuncs replaces how tables are written.
func (wideTables) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(extast.KindTable, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		tag := "</table></div>\n"
		if entering {
			tag = "<div class=\"wrap\" tabindex=\"0\" role=\"group\" aria-label=\"table\"><table>\n"
		}
		_, err := w.WriteString(tag)
		return ast.WalkContinue, err
	})
}
