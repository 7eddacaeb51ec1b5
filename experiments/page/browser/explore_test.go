package browser

import (
	"bufio"
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
	"time"

	"github.com/chromedp/chromedp"

	"latlab.example/common/lab/labtest"
)

// maxExplored is how large the models' page may be, in bytes: it goes to a class
// by mail.
const maxExplored = 6 << 20

// command is the command latlab, built once.
var command = sync.OnceValues(func() (string, error) {
	latlab := filepath.Join(scratch, "latlab-explore")
	return latlab, gobuild(latlab, "./cmd/latlab", "")
})

func gobuild(out, pkg, ldflags string, env ...string) error {
	build := exec.Command("go", "build", "-ldflags", ldflags, "-o", out, pkg)
	build.Dir = filepath.Join("..", "..") // the module of the command
	build.Env = slices.Concat(os.Environ(), []string{"GOWORK=off"}, env)
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, said)
	}
	return nil
}

// asFile is the address of the page with the models inside it.
var asFile = sync.OnceValues(func() (string, error) {
	latlab, err := command()
	if err != nil {
		return "", err
	}
	wasm := filepath.Join(scratch, "explore.wasm")
	if err := gobuild(wasm, "./cmd/explore-wasm", "-s -w", "GOOS=js", "GOARCH=wasm"); err != nil {
		return "", err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	support, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(scratch, "wasm_exec.js"), support, 0o600); err != nil {
		return "", err
	}
	page := filepath.Join(scratch, "explore.html")
	if said, err := exec.Command(latlab, "report", "--explore", "--wasm", wasm, "--out", page).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return "file://" + filepath.ToSlash(page), nil
})

// asServed is the address of a server that ends with the test.
func asServed(tb testing.TB) string {
	tb.Helper()
	latlab, err := command()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	serve := exec.CommandContext(ctx, latlab, "serve")
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	out, err := serve.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		stop()
		_ = serve.Wait() // it was asked to end
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimSpace(line), "/")
}

// addresses are where the page is, both ways.
func addresses(tb testing.TB) map[string]string {
	tb.Helper()
	file, err := asFile()
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]string{"served": asServed(tb) + "/", "file": file}
}

func browse(tb testing.TB) context.Context {
	tb.Helper()
	browser, stop, err := Start(context.Background())
	if errors.Is(err, ErrNoBrowser) {
		labtest.Require(tb, "chromium", err)
	} else if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	return browser
}

func visit(tb testing.TB, browser context.Context, address string, v View) (context.Context, *Seen) {
	tb.Helper()
	tab, done := chromedp.NewContext(browser)
	tb.Cleanup(done)
	seen := new(Seen)
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	if err := open(tab, seen, address, scheme, v); err != nil {
		tb.Fatalf("open %s: %v", address, err)
	}
	return tab, seen
}

func js[T any](tb testing.TB, tab context.Context, script string) T {
	tb.Helper()
	v, err := chromedp.Run(tab, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		tb.Fatalf("%s: %v", script, err)
	}
	return v
}

// until waits for a condition, or ends the test with what the page says.
func until(tb testing.TB, tab context.Context, condition string) {
	tb.Helper()
	if js[bool](tb, tab, `new Promise(done => {
		const start = Date.now();
		(function look() {
			if (`+condition+`) return done(true);
			if (Date.now() - start > 30000) return done(false);
			setTimeout(look, 10);
		})();
	})`) {
		return
	}
	tb.Fatalf("never so: %s; the page says %q", condition, js[string](tb, tab, `document.querySelector("[role=alert]")?.textContent || document.querySelector(".results")?.innerText || document.body.innerText`))
}

// answered waits for the last answer to a setting whose command line has this text.
func answered(tb testing.TB, tab context.Context, text string) {
	tb.Helper()
	until(tb, tab, fmt.Sprintf(`(e => e && !e.classList.contains("asking") && (e.dataset.final || "").includes(%q))(document.getElementById("view-explore"))`, text))
}

const putMany = "#/rawblock/putmany"

// A person opens an experiment, flips a toggle, pins, moves a parameter by keyboard,
// and reads the changed figures; the page asks nobody but the server that it came
// from, or nobody at all.
func TestExplore(t *testing.T) {
	browser := browse(t)
	for name, address := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			tab, seen := visit(t, browser, address+putMany, Desk)
			answered(t, tab, "strategy=sequential ")
			figure := func() string { return js[string](t, tab, `document.querySelector(".headline .figure").textContent`) }
			if got := figure(); got != "27 ms" {
				t.Errorf("one by one takes %q; want 27 ms", got)
			}
			if err := chromedp.Do(tab, chromedp.Click(chromedp.CSS(`input[value="batch"]`))); err != nil {
				t.Fatal(err)
			}
			answered(t, tab, "strategy=sequential,batch")
			if got := figure(); got != "1.833 ms" {
				t.Errorf("a batch takes %q; want 1.833 ms", got)
			}
			if got := js[string](t, tab, `document.querySelector(".headline .verdict").textContent`); got != "✓ holds" {
				t.Errorf("the verdict is %q; want it to hold", got)
			}
			until(t, tab, `document.getElementById("live").textContent.startsWith("Modelled: batch instead of sequential: 1.833 ms")`)
			if got := js[string](t, tab, "location.hash"); got != putMany+"?strategy=batch" {
				t.Errorf("the address has %q", got)
			}

			js[chromedp.Void](t, tab, `[...document.querySelectorAll("button")].find(b => b.textContent === "Pin this setting").click()`)
			// A parameter by keyboard: the range of key-cpu.
			js[chromedp.Void](t, tab, `document.querySelector('input[type=range][aria-label="key-cpu"]').focus()`)
			if err := chromedp.Do(tab, chromedp.KeyEvent("\ue010")); err != nil { // End
				t.Fatal(err)
			}
			js[chromedp.Void](t, tab, `(e => { e.value = e.max; e.dispatchEvent(new Event("input")) })(document.activeElement)`)
			answered(t, tab, "--param key-cpu=30us")
			if got := figure(); got == "1.833 ms" {
				t.Error("the figure didn't move with the parameter")
			}
			if got := js[string](t, tab, `document.querySelector(".answer table").innerText`); !strings.Contains(got, "pinned") || !strings.Contains(got, "1.833 ms") {
				t.Errorf("the pinned setting isn't beside it: %q", got)
			}
			if got := js[int](t, tab, `document.querySelectorAll(".bars .barrow").length`); got != 3 {
				t.Errorf("%d bars; want the setting, its baseline and what is pinned", got)
			}
			// What can't be read is said, and the last answer stays.
			js[chromedp.Void](t, tab, `(e => { e.value = "much"; e.dispatchEvent(new Event("change")) })(document.getElementById("p-key-cpu"))`)
			until(t, tab, `document.querySelector("[role=alert]").textContent.includes("bad value")`)

			for _, r := range seen.Requests() {
				own := strings.HasPrefix(r, "http://127.0.0.1:") || strings.HasPrefix(r, "data:,")
				if name == "file" {
					own = strings.HasPrefix(r, "file:///") || strings.HasPrefix(r, "blob:") || strings.HasPrefix(r, "data:,")
				}
				if !own {
					t.Errorf("it asked for %s", r)
				}
			}
			for _, line := range seen.Console() {
				if name == "served" && strings.Contains(line, "400 (Bad Request)") {
					continue // of the value that can't be read
				}
				t.Errorf("the console has %s", line)
			}
		})
	}
}

// The file is no larger than it may be.
func TestExploredSize(t *testing.T) {
	file, err := asFile()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(strings.TrimPrefix(file, "file://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d KiB", info.Size()>>10)
	if info.Size() > maxExplored {
		t.Errorf("%d bytes; want at most %d", info.Size(), maxExplored)
	}
}

// routes are pages of each kind.
var routes = map[string]string{
	"home": "#/", "case": "#/rawblock", "batch": putMany + "?strategy=batch", "lock": "#/aerospike/gil?lock=free",
	"pool": "#/spatial/pool-size?pool=15&users=210",
}

func settled(t *testing.T, tab context.Context, route string) {
	t.Helper()
	if strings.Count(route, "/") > 1 {
		answered(t, tab, "latlab run")
	}
}

// No page is wider than the screen. Pictures are kept with go test -artifacts.
func TestExploreViews(t *testing.T) {
	browser := browse(t)
	address := asServed(t) + "/"
	for look, v := range map[string]View{"desk": Desk, "night": Night, "phone": Phone} {
		for name, route := range routes {
			t.Run(look+"-"+name, func(t *testing.T) {
				tab, seen := visit(t, browser, address+route, v)
				settled(t, tab, route)
				if wide := js[int](t, tab, "document.documentElement.scrollWidth"); wide > v.Width {
					t.Errorf("the page is %d pixels wide on a screen of %d", wide, v.Width)
				}
				if n := js[int](t, tab, `[...document.querySelectorAll(".view:not([hidden]) .panelcard h2, .answer h2")].filter(h => !h.textContent.includes("modelled")).length`); n > 0 {
					t.Errorf("%d parts don't say that they are modelled", n)
				}
				picture, err := Picture(tab, v, 5000)
				if err != nil {
					t.Fatal(err)
				}
				if size, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || size.Width != v.Width {
					t.Errorf("a picture of %d pixels, %v; want %d", size.Width, err, v.Width)
				}
				if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "explore-"+look+"-"+name+".png"), picture, 0o644); err != nil {
					t.Fatal(err)
				}
				if all := seen.Console(); len(all) > 0 {
					t.Errorf("the console has %v", all)
				}
			})
		}
	}
}

// axe-core finds no serious violation on any of the pages.
func TestExploreAxe(t *testing.T) {
	file := os.Getenv(axeVariable)
	source, err := os.ReadFile(file)
	if err != nil {
		labtest.Require(t, "axe", fmt.Errorf("%s=%q: %w; make axe fetches it", axeVariable, file, err))
	}
	browser := browse(t)
	address := asServed(t) + "/"
	for look, v := range map[string]View{"desk": Desk, "night": Night, "phone": Phone} {
		for name, route := range routes {
			t.Run(look+"-"+name, func(t *testing.T) {
				tab, _ := visit(t, browser, address+route, v)
				settled(t, tab, route)
				js[chromedp.Void](t, tab, `document.querySelectorAll("details").forEach(d => { d.open = true })`)
				if err := chromedp.Do(tab, chromedp.Evaluate[chromedp.Void](string(source))); err != nil {
					t.Fatal(err)
				}
				for _, line := range js[[]string](t, tab, `axe.run().then(r => {
					if (!r.passes.length) return ["axe checked nothing"];
					return r.violations.filter(v => v.impact === "serious" || v.impact === "critical").map(v => v.impact + ", " + v.id + ": " + v.help + ", at " + v.nodes[0].html.slice(0, 200) + " " + v.nodes[0].failureSummary);
				})`) {
					t.Error(line)
				}
			})
		}
	}
}

// BenchmarkFlip flips the first factor of every experiment to every level, and
// reports how long it took until the pictures moved and until the verdict.
func BenchmarkFlip(b *testing.B) {
	browser := browse(b)
	for name, address := range addresses(b) {
		b.Run(name, func(b *testing.B) {
			tab, _ := visit(b, browser, address+putMany, Desk)
			answered(b, tab, "rawblock/putmany")
			var moved, took []time.Duration
			for b.Loop() {
				for _, route := range js[[]string](b, tab, `JSON.parse(document.getElementById("catalog").textContent).experiments.flatMap(x => x.models[0].factors[0].levels.slice(1).map(l => "#/" + x.name + "?" + new URLSearchParams({[x.models[0].factors[0].name]: l.label})))`) {
					js[chromedp.Void](b, tab, fmt.Sprintf(`delete document.getElementById("view-explore").dataset.final; location.hash = %q`, route))
					answered(b, tab, "latlab run")
					data := js[[]float64](b, tab, `(d => [Number(d.moved), Number(d.took)])(document.getElementById("view-explore").dataset)`)
					moved = append(moved, time.Duration(data[0]*1e6))
					took = append(took, time.Duration(data[1]*1e6))
				}
			}
			for what, all := range map[string][]time.Duration{"moved": moved, "verdict": took} {
				slices.Sort(all)
				for _, p := range []int{50, 95, 100} {
					b.ReportMetric(all[(len(all)-1)*p/100].Seconds()*1e3, fmt.Sprintf("%s-p%d-ms", what, p))
				}
			}
			b.ReportMetric(float64(len(moved)), "flips")
		})
	}
}
