// Package audit holds a table of published figures against laws that they must
// obey, and says what can't be true, what would need an odd assumption, and what
// must be true if the figures are.
//
//  1. [Read] reads a table as CSV. A row is a figure as it was written: its
//     digits say how far it was rounded. Columns beside id, value and unit say
//     what the figure is of: its run, quantity, statistic, concurrency and so on.
//  2. [Table.Audit] applies each law wherever the columns give what it needs. Laws
//     on one run are in runs.go (Little, utilisation, percentiles, shares,
//     counts), laws on a series of runs in groups.go and series.go (monotone in
//     latency, proportional in the work, saturation, think times, pools).
//  3. A row's relations connect it with others: "= change(a, b)", "part of a",
//     "same as a". Those laws are in relations.go. A row without a value is a
//     statement: a comparison that was published in words.
//  4. Each [Finding] names its rows, the law, the arithmetic, a sentence and its
//     grade. Rounding is allowed for: no finding is explained by it.
//
// The laws themselves are those of package laws; here they meet a table. A table
// that is consistent gives no finding of grade impossible or implausible.
//
// Values are in seconds, shares or counts, whatever unit the table uses. All
// functions are pure and may be used by any number of goroutines.
package audit
