// Package calibrate fits the model of the service to this host and an object store,
// and looks how well the model predicts the service here.
//
//  1. MeasurePulls pulls objects of several sizes, each made durable; FitPulls finds
//     the time to the first byte and the rate of the rest.
//  2. MeasureAnswers asks the service for one document after the other: what a build
//     takes, the answer's text, a look at the file, and the rest of a request, which
//     is HTTP on both sides and the proxy.
//  3. Run does both and gives a Calibration that is stored as JSON with the host's
//     fingerprint.
//  4. Calibration.Predict runs the model with it; Compare puts what it predicts
//     beside what the service takes, with residuals: several users at once, in three
//     modes, of which what was measured alone knows nothing; and pulls of sizes that
//     weren't measured.
//
// Users, proxy and service are one process, so the cores are those of all three.
package calibrate
