// Package data makes the case's data: places clustered on cities, guides to
// some of them and media of the guides. It feeds the fake and loads PostGIS, so
// that both give the same answers.
//
//  1. A [Config] says how many there are, and the seed. Each row follows from the
//     seed and its number alone: rows can be made one at a time, from any one on,
//     and are the same on every machine, since nothing but integers is drawn.
//  2. [Config.EachLocation], [Config.EachGuide] and [Config.EachMedia] stream the rows.
//  3. [New] keeps them in memory with their indexes: what a fake answers from.
//  4. [Load] copies them into a database, in pieces; killed and run again it goes
//     on where it was.
//
// The first places stand where mistakes are made: at the poles, on both sides of
// the antimeridian, and at the same distance from [Fixed], which is number 1.
package data
