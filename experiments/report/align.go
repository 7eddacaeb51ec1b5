package report

import (
	"strings"
	"text/tabwriter"
)

// align writes rows of cells as lines with straight columns.
func align(rows [][]string) string {
	var s strings.Builder
	t := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		_, _ = t.Write([]byte(strings.Join(r, "\t") + "\n")) // a strings.Builder takes everything
	}
	t.Flush()
	return s.String()
}

// width is that of the longest line.
func width(text string) int {
	longest := 0
	for line := range strings.Lines(text) {
		longest = max(longest, len(line)-1)
	}
	return longest
}

// columns is how long a line of words may be.
const columns = 120

// labelWidth is that of the first column of lines of words.
const labelWidth = 10

// wrap writes a label and a text as lines of at most so many columns, where
// words allow it. Later lines are indented as far as the label reaches, or as
// most labels do if there is none.
func wrap(label, text string) string {
	var s strings.Builder
	reach := min(len(label), columns/3)
	if label == "" {
		reach = labelWidth
	}
	indent := "\n" + strings.Repeat(" ", reach)
	s.WriteString(label)
	used := len(label)
	for i, word := range strings.Fields(text) {
		if i > 0 && used+1+len(word) > columns {
			s.WriteString(indent)
			used = len(indent) - 1
		} else if i > 0 {
			s.WriteByte(' ')
			used++
		}
		s.WriteString(word)
		used += len(word)
	}
	return s.String() + "\n"
}
