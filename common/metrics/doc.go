// Package metrics answers "where did the time go?": stages, histograms, timelines
// and toggles that cost next to nothing when off.
package metrics
