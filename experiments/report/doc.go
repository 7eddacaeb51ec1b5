// Package report prints what a run gave, for people ([Text]) and for programs
// ([JSON]).
//
// Modelled and measured figures stand in tables of their own, each with a
// heading that says in words what they are, and every row says it again: a row
// that is copied out of its table keeps its provenance.
package report
