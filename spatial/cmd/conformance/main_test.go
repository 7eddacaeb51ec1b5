package main

import (
	"strings"
	"testing"

	"latlab.example/spatial/fake/conformance"
)

func TestTheTableIsPrinted(t *testing.T) {
	var b strings.Builder
	if err := run(t.Context(), &b, ""); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != len(conformance.Operations)+2 {
		t.Errorf("%d lines, want %d", n, len(conformance.Operations)+2)
	}
	if err := run(t.Context(), &b, "postgres://127.0.0.1:1/none"); err == nil {
		t.Error("a server that isn't there is no error")
	}
}
