// Package runner runs the arms of an experiment on a rig so that they can be
// compared fairly.
//
//  1. It opens one session an arm, and one more of the first arm: the A/A
//     control. The control is run like an arm of its own. What it seems to
//     differ from its twin by is the noise floor.
//  2. Each session runs a warm-up trial, which isn't counted.
//  3. Then come blocks. A block is one trial of each row, in random order, so
//     that a drift of the host meets all arms alike and figures of one block
//     can be paired.
//  4. It stops after the blocks that were asked for, or when the budget of time
//     is spent, or when the context is cancelled. What was measured is kept.
//
// Order and trial seeds follow from one seed: the same seed and the same arms
// give the same order and the same trials. A row that can't be opened, or whose
// trial fails, is refused: it has a reason in place of figures and the others
// go on. Without the baseline nothing can be compared: if it is refused the run
// ends.
package runner
