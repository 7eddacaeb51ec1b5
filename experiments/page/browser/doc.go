// Package browser opens a report in Chromium, as a reader would: from disk, in
// light and in dark, on a desk and on a phone. It is a module of its own, so that
// nobody else needs a driver for browsers.
package browser
