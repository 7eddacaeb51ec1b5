// Package param holds the parameters of a model as data: each with its value,
// its unit, the range in which it may lie, and its source.
//
//  1. New makes a Table; a model reads it by name (Table.Time, Table.Count, ...).
//  2. Table.Assumptions is a sentence a parameter, for the rig that a result
//     travels with; Table.WriteText is the table itself.
//  3. Table.Set and Table.SetText give the table with one value changed. What was
//     changed says so in its source.
//  4. Table.Sweep lists such tables between two ends, Flips finds where an answer
//     changes between them, and Tornado which parameter moves an outcome most.
//
// Values are integers (nanoseconds, counts, parts of a million, bytes), so that a
// model built on them gives the same figures on every machine. Tables are
// immutable and may be shared.
package param
