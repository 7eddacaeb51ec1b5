// Package emu has the parts that fakes are made of: the thing that waits, the
// latency to wait for, and the faults to inject.
//
// A fake stands where a device or a network stands, and real code talks to it.
// What it reports is only worth reading if it waits for what it was asked, so
// the package holds four parts that every fake shares:
//
//  1. A [Waiter] comes from the rig. [Spin] is exact in wall-clock time,
//     [Sleep] is exact in virtual time (a testing/synctest bubble). A fake
//     calls no other sleep; package sleepcheck looks for one.
//  2. A [Latency] says how long a call takes. Its draws depend on the key and
//     on how often that key was used, never on the order of goroutines.
//  3. A [Schedule] says which call fails and how, in a notation that prints
//     back.
//  4. [Calibrate] and [CalibrateFunc] ask the waiter, or a whole fake, for its
//     latency before a run, and refuse when it is off.
package emu
