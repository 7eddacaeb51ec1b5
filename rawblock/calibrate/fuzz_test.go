package calibrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"latlab.example/rawblock"
)

// A stranger's file gives an error or parameters that the model takes, and reads
// back as it was written.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":1}`))
	for _, c := range []Calibration{
		{Schema: Schema, Fits: map[Path]Device{Call: {Channels: 4, Service: 1000}}, CPU: []Cost{{Payload: 4096, Key: 10}}},
		{Schema: Schema, Fits: map[Path]Device{Call: {Channels: 4, PerWrite: -5}}, CPU: []Cost{{Payload: 4096, Key: 10}}},
		{Schema: Schema, Fits: map[Path]Device{Ring: {Channels: 1 << 40}, Call: {Channels: 1}}, CPU: []Cost{{Payload: -4096, Dispatch: -1}}},
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
		for _, s := range rawblock.StrategyToggle.Levels() {
			_ = c.Params(s, 4096)
			_ = c.Setup(s, 100, 4096)
		}
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
