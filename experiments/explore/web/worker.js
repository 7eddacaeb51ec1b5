// Runs in a worker, after Go's own support. It holds the models and answers what the
// page asks: {wasm} once, then {id, request}.
"use strict";
var latlabAsked = 0;
self.latlabReady = function (catalog) { postMessage({ ready: catalog }); };
self.onmessage = function (e) {
  if (e.data.wasm) {
    var go = new self.Go();
    WebAssembly.instantiate(e.data.wasm, go.importObject).then(
      function (r) { go.run(r.instance); },
      function (err) { postMessage({ failed: String(err) }); }
    );
    return;
  }
  var id = latlabAsked = e.data.id;
  self.latlabRun(e.data.request, function (answer, error) {
    if (id === latlabAsked) postMessage({ id: id, answer: answer, error: error });
  });
};
