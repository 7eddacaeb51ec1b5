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
