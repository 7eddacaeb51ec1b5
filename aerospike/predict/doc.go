// Package predict is a recommendation service around the pipeline: what a batch
// read looks like from outside.
//
//  1. GET /predict names a mode, a reader, a form, sets and keys a set. The
//     pipeline reads them.
//  2. Each position of the sets is a candidate. Its features, 5 sparse and 8
//     dense, come from the records at this position (features).
//  3. A model of the study's shape scores the candidates ([dlrm.Study]): on the
//     request's own goroutine, or on a pool's (inference_wait, inference).
//  4. The scores go out as JSON (encode).
//
// With skip_inference=true the answer is only how many records there were: then
// it is the read behind an HTTP server, and no more.
//
// /health says whether the cluster is there, and /metrics shows the stages to
// Prometheus.
//
// [Service.Get] makes a request from within the process, so that one timeline has
// both sides and the way between them (transport).
package predict
