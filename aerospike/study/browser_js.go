package study

// Experiments are those with a model: a browser has no sockets, and shouldn't have
// to fetch a client library.
var Experiments = models
