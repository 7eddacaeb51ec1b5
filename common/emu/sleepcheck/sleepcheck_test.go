package sleepcheck

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFind(t *testing.T) {
	for name, tt := range map[string]struct {
		source string
		want   []string
	}{
		"plain": {`package p
import "time"
func f() { time.Sleep(1) }`, []string{"f.go:3:17: time.Sleep"}},
		"all kinds": {
			`package p
import "time"
var a, b, c, d, e, f = time.After, time.AfterFunc, time.NewTicker, time.NewTimer(1).C, time.Tick, time.Sleep`,
			[]string{"f.go:3:29: time.After", "f.go:3:41: time.AfterFunc", "f.go:3:57: time.NewTicker", "f.go:3:73: time.NewTimer", "f.go:3:93: time.Tick", "f.go:3:104: time.Sleep"},
		},
		"alias": {`package p
import clock "time"
func f() { clock.Sleep(1) }`, []string{"f.go:3:18: time.Sleep"}},
		"two imports": {`package p
import ("time"; t "time")
func f() { time.Sleep(t.Second); t.Tick(1) }`, []string{"f.go:3:17: time.Sleep", "f.go:3:36: time.Tick"}},
		"dot": {`package p
import . "time"
func f() { Sleep(Second); x.Sleep(1) }`, []string{"f.go:3:12: time.Sleep"}},
		"raw string path": {"package p\nimport `time`\nfunc f() { time.Sleep(1) }", []string{"f.go:3:17: time.Sleep"}},
		"other build": {`//go:build plan9 && never

package p
import "time"
func f() { go func() { <-time.After(1) }() }`, []string{"f.go:5:31: time.After"}},
		"harmless": {`package p
import "time"
import sleep "example.org/time"
type w struct{}
func (w) Sleep(d time.Duration) { sleep.Sleep(d) }
func f() { w{}.Sleep(time.Until(time.Now())); Sleep() }
func Sleep() {} // time.Sleep(1)
`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "f.go", tt.source)
			write(t, dir, "f_test.go", "package p\nimport \"time\"\nfunc g() { time.Sleep(1) }")
			got, err := Find(dir)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("found %q, %v, want %q", got, err, tt.want)
			}
			if got, err := Find(dir, "f.go"); err != nil || got != nil {
				t.Errorf("with the file excepted: found %q, %v", got, err)
			}
		})
	}
}

func TestFindErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "only_test.go", "package p")
	if _, err := Find(dir); !errors.Is(err, ErrNothingToCheck) {
		t.Errorf("without Go files: error %v, want %v", err, ErrNothingToCheck)
	}
	write(t, dir, "f.go", "package p")
	if _, err := Find(dir, "g.go"); !errors.Is(err, ErrNothingToCheck) {
		t.Errorf("exception without a file: error %v, want %v", err, ErrNothingToCheck)
	}
	write(t, dir, "f.go", "packag p")
	if _, err := Find(dir); err == nil {
		t.Error("no error for a file that can't be parsed")
	}
	if _, err := Find(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: error %v, want %v", err, fs.ErrNotExist)
	}
}

// Package emu itself may sleep in one file.
func TestEmuSleepsInOnePlace(t *testing.T) {
	found, err := Find("..", "waiter.go")
	if err != nil || len(found) > 0 {
		t.Errorf("found %q, %v", found, err)
	}
	if all, err := Find(".."); err != nil || len(all) != 1 {
		t.Errorf("waiter.go has %q, %v; it should hold the one timer", all, err)
	}
}

func write(t *testing.T, dir, name, source string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
}
