package study

import (
	"os"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

func TestMain(m *testing.M) {
	nodes = 40 // nothing that is checked depends on how long a build takes
	if os.Getenv(lab.DirVariable) == "" {
		// Files lie beside the tests' other files, not in the user's cache.
		if dir, err := os.MkdirTemp(".", ".realfiles-"); err == nil {
			os.Setenv(lab.DirVariable, dir)
			lab.Main(Experiments...)
			code := m.Run()
			os.RemoveAll(dir)
			os.Exit(code)
		}
	}
	lab.Main(Experiments...)
	os.Exit(m.Run())
}

func TestExperiments(t *testing.T) {
	for _, e := range Experiments {
		t.Run(e.Name, func(t *testing.T) { labtest.Check(t, e) })
	}
}
