package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// ErrNoBrowser occurs when there is no Chromium on PATH.
var ErrNoBrowser = errors.New("no Chromium on PATH; on Debian: apt-get install chromium")

// View is how a reader looks at a page.
type View struct {
	Width, Height int // of the window, in CSS pixels
	Phone         bool
	Dark          bool
	NoScript      bool
	Paper         bool // as it is printed
}

// Views that a report must be good in.
var (
	Desk  = View{Width: 1200, Height: 900}
	Night = View{Width: 1200, Height: 900, Dark: true}
	Phone = View{Width: 390, Height: 844, Phone: true}
)

// Seen is what opening a page gave. It is filled in while the page is open.
type Seen struct {
	mu       sync.Mutex
	requests []string
	console  []string
}

// Requests are the addresses that were asked for, the page's own among them.
func (s *Seen) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...)
}

// Console is what went to the console: messages, warnings, exceptions.
func (s *Seen) Console() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.console...)
}

func (s *Seen) note(list *[]string, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, text)
}

// Start starts a browser of its own profile. The context is for [Open]; stop ends
// the browser. The error wraps [ErrNoBrowser].
func Start(ctx context.Context) (browser context.Context, stop func(), err error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		return nil, nil, ErrNoBrowser
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU)
	if os.Geteuid() == 0 { // Chromium's sandbox refuses root; the page is our own
		opts = append(opts, chromedp.NoSandbox)
	}
	allocated, release := chromedp.NewExecAllocator(ctx, opts...)
	browser, end := chromedp.NewContext(allocated)
	stop = func() { end(); release() }
	if err := chromedp.Do(browser); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	return browser, stop, nil
}

// Open opens a file in a tab of its own and waits until it is loaded. The context
// is for further actions on it; done closes the tab.
func Open(browser context.Context, file string, v View) (tab context.Context, seen *Seen, done func(), err error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, nil, err
	}
	tab, done = chromedp.NewContext(browser)
	seen = new(Seen)
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	if err := open(tab, seen, "file://"+filepath.ToSlash(full), scheme, v); err != nil {
		done()
		return nil, nil, nil, fmt.Errorf("open %s: %w", full, err)
	}
	return tab, seen, done, nil
}

func open(tab context.Context, seen *Seen, address, scheme string, v View) error {
	if err := chromedp.Listen(tab, seen.hear); err != nil {
		return err
	}
	_, err1 := chromedp.Call(tab, network.Enable, network.EnableParams{})
	_, err2 := chromedp.Call(tab, log.Enable, cdp.Empty{})
	_, err3 := chromedp.Call(tab, runtime.Enable, cdp.Empty{})
	_, err4 := chromedp.Call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(v.Width), Height: int64(v.Height), DeviceScaleFactor: 1, Mobile: v.Phone,
	})
	media := ""
	if v.Paper {
		media = "print"
	}
	_, err5 := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media:    media,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	_, err6 := chromedp.Call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScript})
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	return chromedp.Do(tab, chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS("footer")))
}

// hear is called by the loop that reads the browser's messages.
func (s *Seen) hear(e any) {
	switch e := e.(type) {
	case *network.EventRequestWillBeSent:
		s.note(&s.requests, e.Request.URL)
	case *runtime.EventConsoleAPICalled:
		var parts []string
		for _, a := range e.Args {
			parts = append(parts, string(a.Value)+a.Description)
		}
		s.note(&s.console, string(e.Type)+": "+strings.Join(parts, " "))
	case *runtime.EventExceptionThrown:
		s.note(&s.console, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		s.note(&s.console, string(e.Entry.Level)+": "+e.Entry.Text)
	}
}

// Loaded is the time from the navigation's begin to the end of the load event, as
// the browser measured it.
func Loaded(tab context.Context) (time.Duration, error) {
	ms, err := chromedp.Run(tab, chromedp.Evaluate[float64]("performance.getEntriesByType('navigation')[0].loadEventEnd"))
	return time.Duration(ms * float64(time.Millisecond)), err
}

// LayOut has the browser lay out all of the page: what is below the screen waits
// until a reader comes near.
func LayOut(tab context.Context) error {
	return chromedp.Do(tab, chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('main > .card').forEach(c => { c.style.contentVisibility = 'visible' })"))
}

// Picture is a PNG of the page from its top, at most so many CSS pixels high, or
// all of it if height is 0.
func Picture(tab context.Context, v View, height int) ([]byte, error) {
	if err := LayOut(tab); err != nil {
		return nil, err
	}
	tall, err := chromedp.Run(tab, chromedp.Evaluate[float64]("document.documentElement.scrollHeight"))
	if err != nil {
		return nil, err
	}
	if height > 0 {
		tall = min(tall, float64(height))
	}
	return clip(tab, page.Viewport{Width: float64(v.Width), Height: tall, Scale: 1})
}

func clip(tab context.Context, v page.Viewport) ([]byte, error) {
	beyond := true
	r, err := chromedp.Call(tab, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: &v, CaptureBeyondViewport: &beyond})
	return r.Data, err
}
