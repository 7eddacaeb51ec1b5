// Package claims is the ledger of what the studies published: each claim with its
// figures, what their audit says, and what came out here, modelled and measured.
//
// All of it is data beside this code, embedded in the program:
//
//   - published.csv: every figure, one a row, in the columns of package audit
//   - statements.csv: what the studies say in words, as comparisons of figures
//   - claims.csv: a claim with its rows, the experiment and arms that answer it,
//     and the rule that decides
//   - context.csv: rows that nothing is claimed about, with the reason
//   - sentences.csv: what a reader found by hand when the figures were held
//     against each other, with the findings that say it, or why no law does
//   - pending.csv: experiments that claims name and the registry has not yet
//   - sources.csv: the documents
//
// [Load] reads them, [Study.Ledger] looks for each claim's results in folders that
// `latlab run` wrote, and judges. A verdict is of one provenance: the interval of
// the effect against the claim's rule, as a run's own verdict is.
package claims
