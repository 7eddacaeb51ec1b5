// Package calibrationtest holds what every case's calibration must pass.
package calibrationtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"latlab.example/common/calibration"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

// Check wants c, which has no residuals, to be read as it was written, refused for
// another host, and refused if it is broken.
func Check[C calibration.Fitted](t *testing.T, c C) {
	t.Helper()
	var file bytes.Buffer
	if err := errors.Join(c.Check(), calibration.Write(&file, c)); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	got, err := calibration.Read[C](&file)
	if err != nil {
		t.Fatal(err)
	}
	if back := asJSON(t, got); back != asJSON(t, c) {
		t.Errorf("read back:\n%s\nwritten:\n%s", back, text)
	}
	head := got.Heading()
	if err := head.For(c.Heading().Host); err != nil {
		t.Error(err)
	}
	other := c.Heading().Host
	other.CPU = "another"
	if err := head.For(other); !errors.Is(err, calibration.Err) {
		t.Errorf("of another host: %v", err)
	}
	for name, broken := range map[string]string{
		"no JSON":         "{",
		"another schema":  strings.Replace(text, `"schema": `, `"schema": 9`, 1),
		"another case":    strings.Replace(text, `"case": "`, `"case": "x`, 1),
		"nothing in it":   `{"case": "` + head.Case + `", "schema": 1}`,
		"a residual of 0": strings.Replace(text, `"case"`, `"residuals": [{"what": "x"}], "case"`, 1),
	} {
		if _, err := calibration.Read[C](strings.NewReader(broken)); !errors.Is(err, calibration.Err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var fit strings.Builder
	if err := c.WriteFit(&fit); err != nil || !strings.Contains(fit.String(), "residual") {
		t.Errorf("the fit is written as %q, %v", fit.String(), err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Fuzz wants a stranger's file to give an error, or a calibration that reads back as
// it was written and that use, which makes the model's parameters of it, can take.
func Fuzz[C calibration.Fitted](f *testing.F, use func(C), seeds ...C) {
	f.Add([]byte(`{"schema":1}`))
	for _, c := range seeds {
		var text bytes.Buffer
		if err := calibration.Write(&text, c); err != nil {
			f.Fatal(err)
		}
		f.Add(text.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := calibration.Read[C](bytes.NewReader(text))
		if err != nil {
			if !errors.Is(err, calibration.Err) {
				t.Errorf("%v doesn't wrap calibration.Err", err)
			}
			return
		}
		use(c)
		var out bytes.Buffer
		if err := calibration.Write(&out, c); err != nil {
			t.Fatal(err)
		}
		again, err := calibration.Read[C](&out)
		if err != nil {
			t.Fatalf("written and not read: %v", err)
		}
		if a, b := asJSON(t, c), asJSON(t, again); a != b {
			t.Errorf("%s is read back as %s", a, b)
		}
	})
}

// Measure calibrates on this host, measures what is predicted, and prints fit and
// residuals, whatever they are. It skips or fails where the real thing is missing,
// as labtest.Require says.
func Measure[C calibration.Fitted](b *testing.B, fit func(context.Context) (C, error), compare func(context.Context, C) (C, error)) {
	for b.Loop() {
		c, err := fit(b.Context())
		var u *lab.Unavailable
		if errors.As(err, &u) {
			labtest.Require(b, u.Need, err)
		} else if err != nil {
			b.Fatal(err)
		}
		if c, err = compare(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		rows := c.Heading().Residuals
		b.ReportMetric(float64(calibration.Within(rows)), "within-25-percent")
		b.ReportMetric(float64(len(rows)), "predictions")
		var text strings.Builder
		if err := errors.Join(c.WriteFit(&text), calibration.WriteResiduals(&text, rows)); err != nil {
			b.Fatal(err)
		}
		b.Log("\n" + text.String())
	}
}
