// Package soak drives the emulated rig of every case with random faults for as
// long as one likes, and finds wrong answers and what is left behind.
//
//  1. A [Case] drives one rig for about a second. Everything about it follows from
//     a seed: the data, the options, the faults, and what each user asks.
//  2. [Run] has the cases take turns, seed after seed. A round looks at every
//     answer, by what was stored, and at what the rig itself counts: slots,
//     connections, requests.
//  3. Around each round Run counts goroutines and descriptors, and the bytes that
//     live after a collection. What a case adds to them, summed over its rounds,
//     must have no slope: see [Growth].
//
// A round that fails prints its case and seed, which [Options] replays. The
// faults, data and questions are the same then; which of two goroutines comes
// first is not, so a failure that needs an unlucky moment may take some tries.
//
// Faults are allowed to make a request fail. They are not allowed to change an
// answer.
package soak
