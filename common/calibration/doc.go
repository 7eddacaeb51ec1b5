// Package calibration is what the calibrations of all cases share: the file with
// the host that it is of, and the comparison of what a fitted model predicts with
// what was measured.
//
// A case's Calibration embeds a Head and is a Fitted. It measures and fits by
// itself; Write and Read make a file of it, and refuse a stranger's that can't be.
package calibration
