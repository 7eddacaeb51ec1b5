// Package results writes what a run gave, and reads it again for a comparison.
//
// A run goes to two files beside each other. NAME.txt has the trials in the Go
// benchmark format, so that stock benchstat reads it. NAME.json has what that
// format can't hold: commit, seed, order and noise of the trials, calibration,
// assumptions, refused rows, histograms and critical paths, and the trials of
// the A/A control, which in NAME.txt would count as the baseline's.
//
// Modelled and measured results never share a file:
//
//	DIR/modelled/EXPERIMENT/TIME-RIG.txt
//	DIR/measured/HOST/EXPERIMENT/TIME-RIG.txt
//
// with "-" for "/" in the experiment's name, and the time in UTC.
package results
