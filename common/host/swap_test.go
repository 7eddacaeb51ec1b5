package host

import (
	"runtime"
	"testing"
)

func TestSwapUsed(t *testing.T) {
	used, known := SwapUsed(t.Context())
	if runtime.GOOS == "linux" && !known {
		t.Error("unknown on Linux")
	}
	if !known && used != 0 {
		t.Errorf("%d bytes, though unknown", used)
	}
}
