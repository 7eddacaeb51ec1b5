package coldfetch

import (
	"cmp"
	"html"
	"slices"
	"strings"
	"unicode"
)

// Node is a rendered piece of a document.
type Node struct {
	ID      int    `json:"id"`
	Level   int    `json:"level"` // 0 is a paragraph, else a heading's
	Section string `json:"section"`
	HTML    string `json:"html"`
	Related []int  `json:"related,omitempty"` // nodes that share most terms with it
}

// Built is the intermediate representation of a document. Nobody changes it once
// it is built.
type Built struct {
	Title string `json:"title"`
	Terms int    `json:"terms"`
	Nodes []Node `json:"nodes"`

	size int // bytes, about
}

// Size is about how many bytes of memory it takes.
func (b *Built) Size() int { return b.size }

// piece is a node before it is rendered.
type piece struct {
	level   int
	section string
	text    string
	terms   []string // only if they are kept
}

// Build parses a document, indexes its terms and renders it, which takes time in
// proportion to about nodes: its pieces are repeated or cut to be so many, as a
// form has rows. tick is called often, see exec.Task.
func Build(src Source, nodes int, profile BuildProfile, tick func()) *Built {
	pieces := parse(src.Text, nodes)
	index := make(map[string][]int32)
	for i := range pieces {
		p := &pieces[i]
		terms := split(p.text)
		if profile == Lean {
			p.terms = terms
		}
		for _, t := range terms {
			index[t] = append(index[t], int32(i))
		}
		if i%16 == 0 {
			tick()
		}
	}
	b := &Built{Title: src.Title, Terms: len(index), Nodes: make([]Node, len(pieces))}
	related := relatedAsIs(pieces, index)
	if profile == Lean {
		related = relatedLean(pieces, index)
	}
	for i, p := range pieces {
		b.Nodes[i] = Node{ID: i, Level: p.level, Section: p.section, HTML: render(p), Related: related(i)}
		b.size += len(b.Nodes[i].HTML) + 128
		tick()
	}
	return b
}

// parse cuts a text into so many pieces; a text that has fewer begins again.
func parse(text string, nodes int) []piece {
	var all []piece
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		level := 0
		if rest := strings.TrimLeft(line, "#"); len(rest) < len(line) {
			level, line = len(line)-len(rest), strings.TrimSpace(rest)
			section = line
		}
		all = append(all, piece{level: level, section: section, text: line})
	}
	if len(all) == 0 {
		return nil
	}
	for i := 0; len(all) < nodes; i++ {
		all = append(all, all[i])
	}
	return all[:nodes]
}

func split(text string) []string {
	terms := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(terms)
	return slices.Compact(terms)
}

func render(p piece) string {
	tag := "p"
	if p.level > 0 {
		tag = "h" + string(rune('0'+min(p.level, 6)))
	}
	return "<" + tag + ">" + html.EscapeString(p.text) + "</" + tag + ">"
}

const relations = 3

// best are the nodes with most terms in common, the nearest first among equals.
type candidate struct{ node, common int }

func better(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.common, a.common), cmp.Compare(a.node, b.node))
}

// relatedAsIs counts in a map that it makes for each node.
func relatedAsIs(pieces []piece, index map[string][]int32) func(int) []int {
	return func(i int) []int {
		common := make(map[int]int)
		for _, t := range split(pieces[i].text) {
			for _, other := range index[t] {
				common[int(other)]++
			}
		}
		delete(common, i)
		all := make([]candidate, 0, len(common))
		for node, n := range common {
			all = append(all, candidate{node, n})
		}
		slices.SortFunc(all, better)
		return ids(all)
	}
}

// relatedLean counts in one slice and keeps the best as it goes.
func relatedLean(pieces []piece, index map[string][]int32) func(int) []int {
	common := make([]int, len(pieces))
	var touched []int32
	return func(i int) []int {
		touched = touched[:0]
		for _, t := range pieces[i].terms {
			for _, other := range index[t] {
				if common[other] == 0 {
					touched = append(touched, other)
				}
				common[other]++
			}
		}
		best := make([]candidate, 0, relations+1)
		for _, other := range touched {
			c := candidate{int(other), common[other]}
			common[other] = 0
			if c.node == i || len(best) == relations && better(best[relations-1], c) < 0 {
				continue
			}
			at, _ := slices.BinarySearchFunc(best, c, better)
			best = slices.Insert(best, at, c)
			best = best[:min(len(best), relations)]
		}
		return ids(best)
	}
}

func ids(all []candidate) []int {
	var out []int
	for _, c := range all[:min(len(all), relations)] {
		out = append(out, c.node)
	}
	return out
}
