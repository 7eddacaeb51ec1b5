package host

import (
	"errors"
	"runtime"
	"testing"
)

func TestPinElsewhere(t *testing.T) {
	if runtime.GOOS == "linux" {
		t.Skip("Pin works on Linux, where other tests cover it")
	}
	if _, err := Pin(0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v, want %v", err, errors.ErrUnsupported)
	}
}
