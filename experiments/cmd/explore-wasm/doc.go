// Command explore-wasm has the models in it and answers a page's questions: see
// package explore. It is built for a browser, GOOS=js GOARCH=wasm, and runs in a
// worker.
package main
