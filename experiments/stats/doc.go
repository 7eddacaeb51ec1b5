// Package stats turns the trials of a run into medians, effects and verdicts.
//
// It takes its methods from golang.org/x/perf/benchmath and adds what a design
// of interleaved blocks allows:
//
//  1. [Summarize]: a median and its interval by order statistics, which assume
//     nothing of the distribution. A unit that is declared exact has one value,
//     and its interval is the whole range.
//  2. [Effect]: an arm's figure divided by its reference arm's in the same
//     block, and the median of these ratios with its interval. Pairing takes out
//     what the host did to a whole block.
//  3. Noise floor: the largest gain in the interval of the A/A control's ratio,
//     whichever of the twins is called the baseline. A gain that isn't larger
//     may be none.
//  4. [Compare]: the Mann-Whitney U test of two samples; [Holm] corrects its p for
//     the number of judged arms in a table.
//  5. The experiment's rule judges the interval, never the p.
//
// All intervals are at [Confidence]. With fewer than [NeedBlocks] blocks an
// interval is unknown, its bounds are infinite, and the verdict is
// inconclusive.
package stats
