// Package calibrate fits the model of the service to a real database and host, and
// looks how well the model predicts the service there.
//
//  1. Measure asks the service from so many users at once who don't think: the
//     response time against the load, up to where the cores are full.
//  2. Fit finds the work of a request, what it waits for beside, and the number of
//     cores that come closest, by the exact solution of a closed network.
//  3. Run does both and gives a Calibration that is stored as JSON with the host's
//     fingerprint.
//  4. Calibration.Predict runs the model with it; Compare puts what it predicts
//     beside what the service takes, with residuals: with connections that are held
//     for what is no CPU, as in the study's question, which the curve knows nothing
//     of.
//
// With client and server on one host the cores are those of both, and so is the
// work.
package calibrate
