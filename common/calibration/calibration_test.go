package calibration_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"latlab.example/common/calibration"
	"latlab.example/common/calibration/calibrationtest"
	"latlab.example/common/host"
)

// toy is a case's calibration with one figure.
type toy struct {
	calibration.Head
	Figure int `json:"figure"`
}

func (t toy) Check() error {
	if err := t.Expect("toy", 1); err != nil {
		return err
	}
	if t.Figure < 1 {
		return calibration.Refuse("a figure of %d", t.Figure)
	}
	return nil
}

func (t toy) WriteFit(w io.Writer) error {
	_, err := io.WriteString(w, "residual +0%\n")
	return err
}

func fitted() toy {
	return toy{calibration.Head{Case: "toy", Schema: 1, Host: host.Fingerprint{OS: "linux"}}, 7}
}

func TestFile(t *testing.T) { calibrationtest.Check(t, fitted()) }

func FuzzRead(f *testing.F) {
	calibrationtest.Fuzz(f, func(toy) {}, fitted(), toy{Head: calibration.Head{Case: "toy", Schema: 1}, Figure: -1})
}

// The head of any case's file can be read without knowing the case.
func TestReadHead(t *testing.T) {
	c := fitted()
	c.Residuals = []calibration.Residual{{What: "x", Predicted: 3, Measured: 3, Low: 2, High: 4}}
	var file strings.Builder
	if err := calibration.Write(&file, c); err != nil {
		t.Fatal(err)
	}
	h, err := calibration.ReadHead(strings.NewReader(file.String()))
	if err != nil || h.Case != "toy" || !slices.Equal(h.Residuals, c.Residuals) {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := calibration.ReadHead(strings.NewReader("[]")); !errors.Is(err, calibration.Err) {
		t.Errorf("no head: %v", err)
	}
}

// Visits come in turns, and their quartiles count.
func TestCompare(t *testing.T) {
	var order []string
	took := func(name string, all ...time.Duration) calibration.Prediction {
		return calibration.Prediction{What: name, Predicted: 10, Measure: func(_ context.Context, visit int) (time.Duration, error) {
			order = append(order, name)
			return all[visit], nil
		}}
	}
	rows, err := calibration.Compare(t.Context(), 5, []calibration.Prediction{took("a", 9, 5, 8, 6, 7), took("b", 1, 1, 1, 1, 100)})
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	if a := rows[0]; a.What != "a" || a.Predicted != 10 || a.Measured != 7 || a.Low != 6 || a.High != 8 {
		t.Errorf("%+v", a)
	}
	if b := rows[1]; b.Measured != 1 || b.High != 1 || b.Off() != 9 {
		t.Errorf("%+v is off by %v", b, b.Off())
	}
	if got := strings.Join(order, ""); got != "ababababab" {
		t.Errorf("visited in order %s", got)
	}
	broken := errors.New("broken")
	_, err = calibration.Compare(t.Context(), 1, []calibration.Prediction{{What: "c", Measure: func(context.Context, int) (time.Duration, error) { return 0, broken }}})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "measure c") {
		t.Error(err)
	}
}

func TestWriteResiduals(t *testing.T) {
	var s strings.Builder
	err := calibration.WriteResiduals(&s, []calibration.Residual{
		{What: "users=4", Predicted: 120 * time.Millisecond, Measured: 100 * time.Millisecond, Low: 90 * time.Millisecond, High: 110 * time.Millisecond, Others: 1.25},
		{What: "bytes=300000", Predicted: 13 * time.Millisecond, Measured: 10 * time.Millisecond, Low: 9 * time.Millisecond, High: 11 * time.Millisecond},
	})
	for _, want := range []string{"+20%", "+30%", "1.2", "120.00ms", "1 of 2 predictions are within 25 %"} {
		if err != nil || !strings.Contains(s.String(), want) {
			t.Errorf("%v, without %q:\n%s", err, want, &s)
		}
	}
}
