// Package fidelity holds the facts of a test beside those of production, and
// says of each whether it is equal, differs or is unknown.
//
//  1. Production's facts are declared in a file ([Parse]): a name, what it is
//     there, and why it matters.
//  2. [Host] reads facts of the host from its fingerprint and from the process; a
//     case adds those of its run (the store's address, fsync, a proxy).
//  3. [Compare] makes the [Table]. What is declared but wasn't read is unknown,
//     and so is what was read but never declared: both are questions to ask
//     before a figure is believed.
//
// A table says nothing about how much a difference matters. That is what
// experiments are for: change one of them a run.
package fidelity
