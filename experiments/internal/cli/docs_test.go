package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/experiments/internal/scaffold"
	"latlab.example/experiments/registry"
	"latlab.example/rawblock/model"
	"latlab.example/rawblock/uring"
)

const root = "../../.."

// pages are the documents whose commands this test runs.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no pages in docs/: %v", err)
	}
	all := []string{
		"README.md", "CONTRIBUTING.md", "experiments/README.md",
		"rawblock/README.md", "aerospike/README.md", "spatial/README.md", "coldfetch/README.md",
	}
	for _, f := range found {
		all = append(all, "docs/"+filepath.Base(f))
	}
	return all
}

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
	tried := make(map[string]bool)
	for _, page := range pages(t) {
		for _, block := range fences(read(t, page), "sh") {
			for line := range strings.Lines(block) {
				line = strings.TrimSpace(line)
				if tried[line] {
					continue
				}
				tried[line] = true
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
	case outside(line):
		// A module outside the workspace; TestProgramOfTheReadme runs it.
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

// outside says that a line belongs to the module beside the clone.
func outside(line string) bool {
	return slices.Contains([]string{"go mod init shop", "go work init . ../latlab/common", "LATLAB_STAGES=on go run ."}, line)
}

// Where a page shows a run that is too long for a test, or needs a server, its
// experiment, rigs, factors and levels are there all the same. So are those of
// the examples in the help.
func TestRunsThatTheDocsShow(t *testing.T) {
	shown := regexp.MustCompile("(?m)(?:^|[ `])(?:\\.bin/)?latlab (run [^`\n#|]*)")
	lines := make(map[string]string) // and where each stands
	for _, page := range pages(t) {
		for _, m := range shown.FindAllStringSubmatch(read(t, page), -1) {
			if !strings.HasPrefix(m[1], "run mycase/") { // the walk-through's own
				lines[strings.TrimSpace(m[1])] = page
			}
		}
	}
	for _, c := range newRoot(env{}).Commands() {
		for _, m := range shown.FindAllStringSubmatch(c.Example, -1) {
			lines[strings.TrimSpace(m[1])] = "latlab " + c.Name() + " --help"
		}
	}
	for line, where := range lines {
		if err := understood(t, strings.Fields(line)); err != nil {
			t.Errorf("%s: latlab %s: %v", where, line, err)
		}
	}
	if len(lines) < 50 {
		t.Errorf("found %d runs, and the pages have more", len(lines))
	}
}

// understood says whether a run would find what it names. Nothing is opened.
func understood(t *testing.T, args []string) error {
	t.Helper()
	cmd, rest, err := newRoot(env{experiments: registry.All(), goos: runtime.GOOS}).Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	flags := cmd.Flags()
	c := choice{}
	c.rigs, _ = flags.GetStringSlice("rig")
	c.kind, _ = flags.GetString("kind")
	c.sets, _ = flags.GetStringArray("set")
	c.cross, _ = flags.GetStringSlice("cross")
	list := registry.All()
	if name := flags.Arg(0); name != "" && name != "EXPERIMENT" {
		if list, err = list.Of(name); err != nil {
			return err
		}
	}
	if len(list) > 1 {
		return nil // a whole case or kind
	}
	e := list[0]
	set, err := parseSets(c.sets)
	if err != nil {
		return err
	}
	rigs, err := c.candidates(e)
	if err != nil {
		return err
	}
	swept, _ := flags.GetString("sweep")
	found := errors.New("no rig has that")
	for _, r := range rigs {
		_, err := e.Arms(r, lab.Selection{Set: set, Cross: c.cross})
		if name, between, ok := strings.Cut(swept, "="); ok && err == nil {
			params, _ := r.Params()
			_, err = params.SweepText(name, between)
		}
		if err == nil || len(c.rigs) > 0 {
			found = err
		}
	}
	return found
}

// The README's lines for a machine without make are what the Makefile runs.
func TestLinesWithoutMake(t *testing.T) {
	readme, makefile := read(t, "README.md"), read(t, "Makefile")
	_, demo, _ := strings.Cut(makefile, "\ndemo: ")
	demo, _, _ = strings.Cut(demo, "\n\n")
	const byHand = "go run -tags giouring -ldflags=-checklinkname=0 ./experiments/cmd/latlab"
	steps := 0
	for line := range strings.Lines(demo) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "$(BIN)/latlab ") {
			continue
		}
		steps++
		line = strings.NewReplacer("$(BIN)/latlab", byHand, "$(DEMO)", "results/demo").Replace(line)
		if !strings.Contains(readme, "\n"+line+"\n") {
			t.Errorf("README.md lacks this step of make demo:\n%s", line)
		}
	}
	if test := "go test -tags giouring -ldflags=-checklinkname=0 work"; !strings.Contains(readme, "\n"+test+"\n") || steps == 0 {
		t.Errorf("README.md lacks %q, or make demo has no step that runs latlab", test)
	}
}

// walkThrough is the page whose programs TestWalkThrough looks at.
const walkThrough = "docs/write-an-experiment.md"

// Every Go program of a page compiles.
func TestProgramsOfTheDocs(t *testing.T) {
	for _, page := range pages(t) {
		if page == walkThrough {
			continue
		}
		for _, program := range fences(read(t, page), "go") {
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", page, err, out)
			}
		}
	}
}

// The README's program runs in a module of its own, by the README's commands.
func TestProgramOfTheReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	page := read(t, "README.md")
	programs := fences(page, "go")
	if len(programs) != 1 {
		t.Fatalf("the README has %d programs, want one", len(programs))
	}
	common, err := filepath.Abs(filepath.Join(root, "common"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(programs[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	var out []byte
	ran := 0
	for _, block := range fences(page, "sh") {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if !outside(line) {
				continue
			}
			ran++
			words := strings.Fields(strings.Replace(line, "../latlab/common", common, 1))
			var set []string
			for strings.Contains(words[0], "=") {
				set, words = append(set, words[0]), words[1:]
			}
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GOWORK=", "GOFLAGS="), set...)
			if out, err = cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if !regexp.MustCompile(`(?m)^ +lookup +100 .*\n +render +100 `).Match(out) || ran != 3 {
		t.Errorf("after %d commands it printed:\n%s", ran, out)
	}
}

// The code of the walk-through is the skeleton's, except for a study of its own,
// which replaces the skeleton's and passes its tests.
func TestWalkThrough(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module")
	}
	dir := t.TempDir()
	written, err := scaffold.Write(dir, "mycase")
	if err != nil {
		t.Fatal(err)
	}
	var skeleton strings.Builder
	for _, f := range written {
		b, err := os.ReadFile(f)
		if err != nil {
			b, err = os.ReadFile(filepath.Join(dir, f))
		}
		if err != nil {
			t.Fatal(err)
		}
		skeleton.Write(b)
	}
	study := ""
	for _, program := range fences(read(t, walkThrough), "go") {
		switch {
		case strings.HasPrefix(program, "// Package study "):
			study = program
		case !strings.Contains(skeleton.String(), program):
			t.Errorf("the skeleton has no such text:\n%s", program)
		}
	}
	if study == "" {
		t.Fatal("the page has no study")
	}
	if err := os.WriteFile(filepath.Join(dir, "mycase", "study", "study.go"), []byte(study), 0o600); err != nil {
		t.Fatal(err)
	}
	common, err := filepath.Abs(filepath.Join(root, "common"))
	if err != nil {
		t.Fatal(err)
	}
	// The skeleton looks for its neighbour beside it.
	if err := os.Symlink(common, filepath.Join(dir, "common")); err != nil {
		t.Fatal(err)
	}
	const work = "go 1.26.0\n\nuse (\n\t./common\n\t./mycase\n)\n"
	if err := os.WriteFile(filepath.Join(dir, "go.work"), []byte(work), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = filepath.Join(dir, "mycase")
		cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"), "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}

// A link of a page to a file of the repository, or to a heading, leads somewhere.
func TestLinksOfTheDocs(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := page
			if target != "" {
				to = path.Join(path.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
				continue
			}
			if heading != "" && !slices.Contains(anchors(read(t, to)), heading) {
				t.Errorf("%s: %s has no heading #%s", page, to, heading)
			}
		}
	}
}

// CONTRIBUTING.md gives a reason for each direct dependency of each module.
func TestDependenciesHaveReasons(t *testing.T) {
	_, page, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "\n## Dependencies\n")
	reasons := regexp.MustCompile(`[a-z0-9]+\.[a-z.]+/[\w./-]+`).FindAllString(page, -1)
	direct := regexp.MustCompile(`(?m)^(?:require)?\s+(\S+\.\S+/\S+) v\S+$`)
	seen := 0
	for file := range sources(t) {
		if path.Base(file) != "go.mod" {
			continue
		}
		for _, m := range direct.FindAllStringSubmatch(read(t, file), -1) {
			seen++
			if !strings.HasPrefix(m[1], "latlab.example/") && !slices.ContainsFunc(reasons, func(r string) bool { return within(m[1], r) }) {
				t.Errorf("CONTRIBUTING.md gives no reason for %s of %s", m[1], file)
			}
		}
	}
	if seen < 20 {
		t.Errorf("found %d dependencies", seen)
	}
}

// Each folder with Go code has a place in the layout, or the folder that it is in
// has, unless that is a module's own.
func TestLayoutIsComplete(t *testing.T) {
	var named []string
	for _, code := range regexp.MustCompile("`[a-z0-9/-]+`").FindAllString(read(t, "CONTRIBUTING.md")+read(t, "experiments/README.md"), -1) {
		named = append(named, "/"+strings.Trim(code, "`/"))
	}
	known := func(dir string) bool {
		return slices.ContainsFunc(named, func(n string) bool { return strings.HasSuffix("/"+dir, n) })
	}
	for file := range sources(t) {
		dir, up := path.Dir(file), path.Dir(path.Dir(file))
		if path.Ext(file) != ".go" || known(dir) {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, up, "go.mod")); err == nil || !known(up) {
			t.Errorf("the layout in CONTRIBUTING.md has no %s", dir)
		}
	}
}

// within says that a path is the other one or under it.
func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// sources are the repository's files with code and go.mod, by their path from its
// root. Folders that git or Go leave out are left out.
func sources(t *testing.T) iter.Seq[string] {
	t.Helper()
	return func(yield func(string) bool) {
		err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
			name := d.Name()
			switch {
			case err != nil:
				return err
			case d.IsDir() && file != "." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "internal", "results", "tools"}, name)):
				return fs.SkipDir
			case !d.IsDir() && !yield(file):
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// anchors are the names by which GitHub links to a page's headings.
func anchors(page string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
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
