package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/experiments/registry"
	"latlab.example/rawblock/model"
	"latlab.example/rawblock/uring"
)

const root = "../../.."

// pages are the documents whose commands this test runs.
var pages = []string{"README.md", "CONTRIBUTING.md", "rawblock/README.md", "aerospike/README.md", "experiments/README.md"}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fences are the code blocks of a page in that language.
func fences(page, language string) []string {
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// Every command of a page works: make targets exist, and latlab commands run, as
// short as can be.
func TestCommandsOfTheDocs(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, page := range pages {
		for _, block := range fences(read(t, page), "sh") {
			for line := range strings.Lines(block) {
				line = strings.TrimSpace(line)
				t.Run(page+": "+line, func(t *testing.T) { tryCommand(t, makefile, line) })
			}
		}
	}
}

func tryCommand(t *testing.T, makefile, line string) {
	words := strings.Fields(line)
	at := slices.IndexFunc(words, func(w string) bool { return filepath.Base(w) == "latlab" })
	switch {
	case len(words) == 0:
	case words[0] == "make":
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `:`).MatchString(makefile) {
			t.Errorf("the Makefile has no target %s", words[1])
		}
	case strings.HasPrefix(line, "go mod "), line == "LATLAB_STAGES=on go run .":
		// A module outside the workspace; TestProgramsOfTheDocs compiles its program.
	case words[0] == "go" && at < 0:
		if !strings.Contains(makefile, "-tags giouring -ldflags=-checklinkname=0") || !strings.HasPrefix(line, "go test -tags giouring -ldflags=-checklinkname=0 ") {
			t.Errorf("a go command that this test doesn't know, or with other flags than the Makefile's")
		}
	case at >= 0:
		tryLatlab(t, words[at+1:])
	default:
		t.Errorf("a command that this test doesn't know: teach it or mark the block as text")
	}
}

func tryLatlab(t *testing.T, args []string) {
	if args[0] == "run" {
		args = append(slices.Clone(args), "--blocks", "1", "--min", "1ms", "--out", t.TempDir())
	}
	var out, errs bytes.Buffer
	cmd := newRoot(env{experiments: registry.All(), out: &out, err: &errs, goos: runtime.GOOS})
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	if errors.Is(err, lab.ErrRefused) {
		t.Logf("understood, but a fake can't keep time here: %v", err)
		return
	}
	if code := exitCode(err); code == 2 || code != 0 && uring.Built {
		t.Errorf("exit code %d: %v\n%s%s", code, err, out.String(), errs.String())
	}
}

// Every Go program of a page compiles.
func TestProgramsOfTheDocs(t *testing.T) {
	found := 0
	for _, page := range pages {
		for _, program := range fences(read(t, page), "go") {
			found++
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", page, err, out)
			}
		}
	}
	if found == 0 {
		t.Error("no program found; the README has one")
	}
}

// The chapter's table is the one that the model computes.
func TestFitTableOfTheChapter(t *testing.T) {
	var want strings.Builder
	for line := range strings.Lines(model.FitPosix().Table()) {
		want.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if !strings.Contains(read(t, "rawblock/README.md"), want.String()) {
		t.Errorf("rawblock/README.md lacks the table as computed:\n%s", want.String())
	}
}
