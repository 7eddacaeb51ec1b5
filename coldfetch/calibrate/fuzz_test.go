package calibrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

// A stranger's file gives an error or parameters that the model takes, and reads
// back as it was written.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":1}`))
	for _, c := range []Calibration{
		{Schema: Schema, Answers: Answers{Build: 1000, Spread: 1.5}, Way: Way{First: 5, BytesPerSec: 1e9}},
		{Schema: Schema, Answers: Answers{Build: 1 << 62, JSON: -1, Spread: 1e300}, Way: Way{First: 5, BytesPerSec: -1}},
	} {
		var text bytes.Buffer
		if err := c.Write(&text); err != nil {
			f.Fatal(err)
		}
		f.Add(text.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(bytes.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrCalibration) {
				t.Errorf("%v doesn't wrap ErrCalibration", err)
			}
			return
		}
		_ = c.Params()
		var out bytes.Buffer
		if err := c.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&out)
		if err != nil {
			t.Fatalf("written and not read: %v", err)
		}
		a, aerr := json.Marshal(c)
		b, berr := json.Marshal(again)
		if !bytes.Equal(a, b) || aerr != nil || berr != nil {
			t.Errorf("%s is read back as %s", a, b)
		}
	})
}
