package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"latlab.example/common/metrics"
)

// Paragraphs writes a text, whose paragraphs are separated by empty lines, in
// lines of bounded length.
func Paragraphs(text string) string {
	var out strings.Builder
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(wrapAt(p, columns))
	}
	return out.String()
}

// wrapAt is wrap without a label and indentation.
func wrapAt(text string, limit int) string {
	var s strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		switch {
		case used > 0 && used+1+len(word) > limit:
			s.WriteByte('\n')
			used = 0
		case used > 0:
			s.WriteByte(' ')
			used++
		}
		s.WriteString(word)
		used += len(word)
	}
	return s.String() + "\n"
}

// Shares writes where the time went, the largest share first, down to one percent.
func Shares(b metrics.Breakdown) string {
	rows := b.Rows()
	slices.SortStableFunc(rows, func(a, b metrics.Row) int { return cmp.Compare(b.Percent, a.Percent) })
	var parts []string
	for _, r := range rows {
		if r.Percent >= 1 {
			parts = append(parts, fmt.Sprintf("%s %.0f%%", r.Stage, r.Percent))
		}
	}
	return strings.Join(parts, ", ")
}
