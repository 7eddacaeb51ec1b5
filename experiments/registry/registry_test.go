package registry

import (
	"errors"
	"strings"
	"testing"

	"latlab.example/common/lab"
)

func TestFind(t *testing.T) {
	list := New([]lab.Experiment{{Name: "a/one"}}, []lab.Experiment{{Name: "b/two"}})
	if e, err := list.Find("b/two"); err != nil || e.Name != "b/two" {
		t.Errorf("Find(b/two) = %q, %v", e.Name, err)
	}
	_, err := list.Find("c/three")
	if !errors.Is(err, ErrExperiment) || !strings.Contains(err.Error(), "a/one, b/two") {
		t.Errorf("Find(c/three) = %v; want ErrExperiment with the names that there are", err)
	}
}

func TestNewPanicsOnTwoOfOneName(t *testing.T) {
	defer func() {
		if p, _ := recover().(string); !strings.Contains(p, `"a/one"`) {
			t.Errorf("panic %q; want the name", p)
		}
	}()
	New([]lab.Experiment{{Name: "a/one"}}, []lab.Experiment{{Name: "a/one"}})
}

// A case that is left out of the registry would be noticed by nobody.
func TestAll(t *testing.T) {
	if _, err := All().Find("rawblock/putmany"); err != nil {
		t.Error(err)
	}
	All()[0].Name = "changed"
	if All()[0].Name == "changed" {
		t.Error("All shares its list with callers")
	}
}
