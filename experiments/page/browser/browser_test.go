package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"latlab.example/common/lab/labtest"
)

// axeVariable names the file axe.min.js of axe-core.
const axeVariable = "LATLAB_AXE"

// reportVariable names a report to open in place of the one that the test makes.
const reportVariable = "LATLAB_REPORT"

// scratch is a folder that TestMain removes.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "latlab-browser-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(scratch); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// made is the report that all tests open.
var made = sync.OnceValues(func() (string, error) {
	if file := os.Getenv(reportVariable); file != "" {
		return file, nil
	}
	dir := scratch
	latlab := filepath.Join(dir, "latlab")
	build := exec.Command("go", "build", "-o", latlab, "./cmd/latlab")
	build.Dir = filepath.Join("..", "..") // the module of the command
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	facts := filepath.Join(dir, "facts.txt")
	if err := os.WriteFile(facts, []byte("cores = 2 # shared\nstore rtt = 1ms\n"), 0o600); err != nil {
		return "", err
	}
	run := func(args ...string) error {
		cmd := exec.Command(latlab, args...)
		cmd.Dir = dir
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("latlab %s: %w: %s", strings.Join(args, " "), err, said.String())
		}
		if at := slices.Index(args, "--json"); at > 0 {
			return os.WriteFile(filepath.Join(dir, "results", strings.Trim(args[at-1], "-")+".json"), out, 0o600)
		}
		return nil
	}
	// Curves and waterfalls; an arm without a rule; real figures; a model's parameters.
	err := errors.Join(
		run("run", "rawblock/putmany", "--rig", "model", "--cross", "strategy,channels", "--blocks", "6"),
		run("run", "rawblock/allocator", "--blocks", "6", "--min", "1ms"),
		run("run", "rawblock/putmany", "--rig", "model,file", "--available", "--set", "engine=posix", "--blocks", "6", "--min", "10ms"),
		run("run", "rawblock/putmany", "--rig", "model", "--tornado", "--json"),
		run("run", "rawblock/putmany", "--rig", "model", "--sweep", "key-cpu=1us..30us", "--json"),
	)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "report.html"), run("report", "--production", facts)
})

// start gives a browser, or ends the test.
func start(tb testing.TB) (browser context.Context, report string) {
	tb.Helper()
	browser, stop, err := Start(context.Background())
	if errors.Is(err, ErrNoBrowser) {
		labtest.Require(tb, "chromium", err)
	} else if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	report, err = made()
	if err != nil {
		tb.Fatal(err)
	}
	return browser, report
}

func look(t *testing.T, browser context.Context, report string, v View) (context.Context, *Seen) {
	t.Helper()
	tab, seen, done, err := Open(browser, report, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	if err := LayOut(tab); err != nil { // else nothing would be found below the screen
		t.Fatal(err)
	}
	return tab, seen
}

func eval[T any](t *testing.T, tab context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(tab, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// In every view the page asks for nothing but itself, says nothing on the console,
// and isn't wider than the screen. Pictures are kept with go test -artifacts.
func TestViews(t *testing.T) {
	browser, report := start(t)
	for name, v := range map[string]View{"desk": Desk, "night": Night, "phone": Phone} {
		t.Run(name, func(t *testing.T) {
			tab, seen := look(t, browser, report, v)
			if err := chromedp.Do(tab, chromedp.Click(chromedp.CSS("#unfold"))); err != nil {
				t.Fatal(err)
			}
			if folded := eval[int](t, tab, "document.querySelectorAll('details:not([open])').length"); folded != 0 {
				t.Errorf("%d details stay folded after the button was pressed", folded)
			}
			if wide := eval[int](t, tab, "document.documentElement.scrollWidth"); wide > v.Width {
				t.Errorf("the page is %d pixels wide on a screen of %d", wide, v.Width)
			}
			picture, err := Picture(tab, v, 4000)
			if err != nil {
				t.Fatal(err)
			}
			if size, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || size.Width != v.Width {
				t.Errorf("a picture of %d pixels, %v; want %d", size.Width, err, v.Width)
			}
			if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name+".png"), picture, 0o644); err != nil {
				t.Fatal(err)
			}
			if all := seen.Requests(); len(all) != 1 || !strings.HasPrefix(all[0], "file:///") {
				t.Errorf("requests %v; want the page alone", all)
			}
			if all := seen.Console(); len(all) > 0 {
				t.Errorf("the console has %v", all)
			}
		})
	}
}

// Colours follow the reader's choice, and the two provenances differ in shape, not
// in colour alone.
func TestProvenanceIsSeen(t *testing.T) {
	browser, report := start(t)
	day, _ := look(t, browser, report, Desk)
	night, _ := look(t, browser, report, Night)
	const paper = "getComputedStyle(document.body).backgroundColor"
	if a, b := eval[string](t, day, paper), eval[string](t, night, paper); a == b {
		t.Errorf("paper is %s by day and by night", a)
	}
	if eval[int](t, day, "document.querySelectorAll('.plot.mod .mid').length") == 0 {
		t.Fatal("no modelled plot")
	}
	const style = "(s => { const e = document.querySelector(s); return e ? getComputedStyle(e) : null })"
	paint := func(of, what string) string {
		return eval[string](t, day, "("+style+"('"+of+"') || {})."+what+" || ''")
	}
	if fill, line := paint(".plot.mod .mid", "fill"), paint(".plot.mod .mid", "stroke"); fill == line {
		t.Errorf("a modelled dot is filled: %s", fill)
	}
	if dash := paint(".plot.mod .whisker", "strokeDasharray"); dash == "none" {
		// All modelled arms may be exact, without an interval to draw.
		t.Error("a modelled interval is solid")
	}
	if eval[int](t, day, "document.querySelectorAll('.plot.mea .mid').length") == 0 {
		t.Skip("no measured figures here")
	}
	if fill, line := paint(".plot.mea .mid", "fill"), paint(".plot.mea .mid", "stroke"); fill != line {
		t.Errorf("a measured dot is hollow: %s in %s", fill, line)
	}
	if a, b := paint(".plot.mea .mid", "stroke"), paint(".plot.mod .mid", "stroke"); a == b {
		t.Errorf("both provenances are drawn in %s", a)
	}
}

// Without JavaScript pictures and tables are there, and no button that would do
// nothing.
func TestWithoutScript(t *testing.T) {
	browser, report := start(t)
	bare := Desk
	bare.NoScript = true
	tab, _ := look(t, browser, report, bare)
	for what, least := range map[string]int{"table.arms tbody tr": 4, "svg.plot": 4, "svg.chart": 2, ".bar svg": 2, "details table": 2} {
		if n := eval[int](t, tab, "document.querySelectorAll('"+what+"').length"); n < least {
			t.Errorf("%d of %s; want at least %d", n, what, least)
		}
	}
	if eval[float64](t, tab, "document.getElementById('unfold').offsetHeight") != 0 {
		t.Error("the button is shown")
	}
}

// On paper all details are open, and there is no button.
func TestPaper(t *testing.T) {
	browser, report := start(t)
	paper := View{Width: 794, Height: 1123, Paper: true} // A4
	tab, _ := look(t, browser, report, paper)
	if eval[float64](t, tab, "document.getElementById('unfold').offsetHeight") != 0 {
		t.Error("the button is printed")
	}
	if folded := eval[int](t, tab, "[...document.querySelectorAll('details > :not(summary)')].filter(e => e.offsetHeight === 0).length"); folded > 0 {
		t.Errorf("%d parts of details aren't printed", folded)
	}
	picture, err := Picture(tab, paper, 6000)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "paper.png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The first key takes a reader past the head; each picture has words for who hears
// the page.
func TestKeyboardAndVoice(t *testing.T) {
	browser, report := start(t)
	tab, _ := look(t, browser, report, Desk)
	if err := chromedp.Do(tab, chromedp.KeyEvent("\t")); err != nil {
		t.Fatal(err)
	}
	if first := eval[string](t, tab, "document.activeElement.className"); first != "skip" {
		t.Errorf("the first key goes to %q; want the skip link", first)
	}
	if err := chromedp.Do(tab, chromedp.KeyEvent("\r")); err != nil {
		t.Fatal(err)
	}
	if at := eval[string](t, tab, "document.activeElement.id"); at != "main" {
		t.Errorf("the skip link goes to %q; want main", at)
	}
	if mute := eval[int](t, tab, "document.querySelectorAll('svg:not([aria-hidden]):not([aria-label])').length"); mute > 0 {
		t.Errorf("%d pictures have no words", mute)
	}
	if wrong := eval[string](t, tab, `(() => {
		let last = 0, wrong = [];
		for (const h of document.querySelectorAll("h1,h2,h3,h4")) {
			const level = Number(h.tagName[1]);
			if (level > last + 1) wrong.push(h.textContent);
			last = level;
		}
		return wrong.join("; ");
	})()`); wrong != "" {
		t.Errorf("headings that leave out a level: %s", wrong)
	}
	if twice := eval[int](t, tab, "(() => { const all = [...document.querySelectorAll('[id]')].map(e => e.id); return all.length - new Set(all).size })()"); twice > 0 {
		t.Errorf("%d ids stand twice", twice)
	}
	if lost := eval[string](t, tab, `[...document.querySelectorAll("a[href^='#']")].map(a => a.getAttribute("href").slice(1)).filter(id => !document.getElementById(id)).join(" ")`); lost != "" {
		t.Errorf("links that lead nowhere: %s", lost)
	}
}

// axe-core finds no serious violation, in any view, with all details open.
func TestAxe(t *testing.T) {
	file := os.Getenv(axeVariable)
	source, err := os.ReadFile(file)
	if err != nil {
		labtest.Require(t, "axe", fmt.Errorf("%s=%q: %w; make axe fetches it", axeVariable, file, err))
	}
	browser, report := start(t)
	for name, v := range map[string]View{"desk": Desk, "night": Night, "phone": Phone} {
		t.Run(name, func(t *testing.T) {
			tab, _ := look(t, browser, report, v)
			if err := chromedp.Do(tab, chromedp.Click(chromedp.CSS("#unfold")), chromedp.Evaluate[chromedp.Void](string(source))); err != nil {
				t.Fatal(err)
			}
			type result struct {
				Passes     int `json:"passes"`
				Violations []struct {
					ID, Impact, Help string
					Nodes            int
					First            string
				} `json:"violations"`
			}
			found, err := chromedp.Run(tab, chromedp.Evaluate[result](`axe.run().then(r => ({
				passes: r.passes.length,
				violations: r.violations.map(v => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.length, First: v.nodes[0].html.slice(0, 200) + " " + v.nodes[0].failureSummary}))
			}))`, chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(err)
			}
			if found.Passes == 0 {
				t.Fatal("axe checked nothing")
			}
			for _, v := range found.Violations {
				line := fmt.Sprintf("%s, %s: %s (%d places, the first %s)", v.Impact, v.ID, v.Help, v.Nodes, v.First)
				if v.Impact == "serious" || v.Impact == "critical" {
					t.Error(line)
				} else {
					t.Log(line)
				}
			}
			t.Logf("axe: %d rules passed, %d violations", found.Passes, len(found.Violations))
		})
	}
}

// BenchmarkOpen is the time that the browser needs from the navigation to the end
// of the load event.
func BenchmarkOpen(b *testing.B) {
	browser, report := start(b)
	info, err := os.Stat(report)
	if err != nil {
		b.Fatal(err)
	}
	var sum float64
	n := 0
	for b.Loop() {
		tab, _, done, err := Open(browser, report, Desk)
		if err != nil {
			b.Fatal(err)
		}
		took, err := Loaded(tab)
		done()
		if err != nil {
			b.Fatal(err)
		}
		sum += took.Seconds()
		n++
	}
	b.ReportMetric(1e3*sum/float64(n), "load-ms")
	b.ReportMetric(float64(info.Size())/1024, "KiB")
}
