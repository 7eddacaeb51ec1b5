// Package calibrate fits the model of a store to a real device, and looks how
// well the model predicts the store there.
//
//  1. Curve measures latency against the number of writes under way, on both
//     paths on which a store writes: calls that wait, and one submission of many.
//  2. Fit finds the service time, the number of channels and the bandwidth that
//     come closest to a path's curve.
//  3. Run does both, measures the store's own CPU a key, and gives a Calibration
//     that is stored as JSON with the host's fingerprint.
//  4. Calibration.Predict runs the model with it; Compare puts what it predicts
//     beside what the store takes, with residuals.
//
// The channels are the device's and the host's together: what goroutines can
// keep under way on a few cores is less than what the device could take, which is
// why each path has a fit of its own.
package calibrate
