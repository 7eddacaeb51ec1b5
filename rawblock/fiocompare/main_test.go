package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os/exec"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	for _, args := range [][]string{
		{"-rounds", "4"}, {"-time", "1500ms"}, {"-time", "0s"}, {"-size", "100"}, {"-size", "0"}, {"-none"}, {"more"},
	} {
		var out, errs bytes.Buffer
		if err := run(t.Context(), args, &out, &errs); !errors.Is(err, errUsage) || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: %v, %q", args, err, errs.String())
		}
	}
	var errs bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &bytes.Buffer{}, &errs); !errors.Is(err, flag.ErrHelp) || !strings.Contains(errs.String(), "-rounds") {
		t.Errorf("help: %v, %q", err, errs.String())
	}
}

func TestFioIsMissing(t *testing.T) {
	for _, name := range []string{"no-such-fio", "/no/such/fio"} {
		err := run(t.Context(), []string{"-fio", name}, &bytes.Buffer{}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "-fio") || !strings.Contains(err.Error(), name) {
			t.Errorf("%v", err)
		}
	}
	if _, err := (fio{program: "no-such-fio"}).version(context.Background()); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "apt-get install fio") {
		t.Errorf("%v", err)
	}
}
