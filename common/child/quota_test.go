package child_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"latlab.example/common/child"
	"latlab.example/common/lab/labtest"
)

func TestQuota(t *testing.T) {
	const cores = 0.5
	got, err := child.Say(t, "host", "", child.Limits{Quota: cores})
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrPermission) {
		labtest.Require(t, "quota", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if f, err := strconv.ParseFloat(strings.TrimSpace(got), 64); err != nil || f != cores {
		t.Errorf("the child reads a quota of %q, want %g", got, cores)
	}
	if _, err := child.Start(t.Context(), "host", child.Limits{Quota: -1}); err == nil {
		t.Error("a negative quota was taken")
	}
	mine := fmt.Sprintf("latlab-%d-*", os.Getpid())
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		if left, err := filepath.Glob(filepath.Join(dir, mine)); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}
