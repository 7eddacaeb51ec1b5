// Package explore answers what a person asks of a model by flipping one toggle
// or moving one parameter: quickly, and with the command line that gives the same
// figures.
//
//  1. [Models] lists the experiments that have a model, with their factors, their
//     levels and the parameters that the model rests on, each with its source.
//  2. [Catalog.Run] runs one setting, and beside it the same setting with the
//     experiment's first factor at its baseline, which the rule compares it with.
//  3. It gives an [Answer] after the first block of trials, so that a picture moves
//     at once, and one after each further block until there are [Blocks]: only then
//     are there intervals, and so a verdict.
//
// The runs are those of package runner: the same request has the same figures in a
// server, in WebAssembly, and from latlab run. Everything here is modelled.
package explore
