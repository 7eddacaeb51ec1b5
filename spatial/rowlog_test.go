package spatial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"latlab.example/common/bubble"
	"latlab.example/common/emu"
)

// lockedBuffer is a sink that keeps what was written.
type lockedBuffer struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	writes int
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes++
	return b.buf.Write(p)
}

var threePlaces = []Place{{Location{ID: 1, Name: "a place", Lon: 126.98, Lat: 37.57}, 12.5}, {Location{ID: 2}, 13}, {Location{ID: 3}, 14}}

func TestRowLogLevels(t *testing.T) {
	for _, c := range []struct {
		level LogLevel
		lines int
	}{{LogOff, 0}, {LogSummary, 1}, {LogRows, 4}} {
		var sink lockedBuffer
		l, err := NewRowLog(&sink, c.level)
		if err != nil {
			t.Fatal(err)
		}
		l.answered(t.Context(), Query{Lon: 126.98, Lat: 37.57, Radius: 5000}, threePlaces)
		if sink.writes != c.lines || strings.Count(sink.buf.String(), "\n") != c.lines {
			t.Errorf("%s: %d writes, want %d lines, one write each:\n%s", c.level, sink.writes, c.lines, sink.buf.String())
		}
		if l.Level() != c.level {
			t.Errorf("level %s reads as %s", c.level, l.Level())
		}
	}
	var none *RowLog
	none.answered(t.Context(), Query{}, threePlaces) // does nothing
}

// The level changes while the log is in use.
func TestRowLogSwitches(t *testing.T) {
	var sink lockedBuffer
	l, err := NewRowLog(&sink, LogRows)
	if err != nil {
		t.Fatal(err)
	}
	l.answered(t.Context(), Query{}, threePlaces)
	if err := l.SetLevel(LogSummary); err != nil {
		t.Fatal(err)
	}
	l.answered(t.Context(), Query{}, threePlaces)
	if sink.writes != 5 {
		t.Errorf("%d lines after 4 with rows and 1 without", sink.writes)
	}
	if err := l.SetLevel("loud"); !errors.Is(err, ErrLogLevel) || l.Level() != LogSummary {
		t.Errorf("level loud: %v, and the level is %s", err, l.Level())
	}
	if _, err := NewRowLog(&sink, "loud"); !errors.Is(err, ErrLogLevel) {
		t.Errorf("a log of level loud: %v", err)
	}
}

// Lines are those of slog's own text handler, with attributes and groups.
func TestLinesAreSlogs(t *testing.T) {
	var got lockedBuffer
	var want bytes.Buffer
	var level slog.LevelVar
	same := func(h slog.Handler) slog.Handler {
		return h.WithAttrs([]slog.Attr{slog.String("a", "b c")}).WithGroup("g").WithAttrs([]slog.Attr{slog.Int("n", 1)})
	}
	r := slog.NewRecord(time.Unix(0, 0), slog.LevelInfo, "hello", 0)
	r.AddAttrs(slog.Float64("x", 1.5))
	for range 2 { // the second reuses memory
		if err := same(newLines(&got, &level)).Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := same(slog.NewTextHandler(&want, nil)).Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if got.buf.String() != want.String() {
		t.Errorf("got  %q\nwant %q", got.buf.String(), want.String())
	}
}

// Field report: the lock of a console's appender. Whoever logs waits for all
// others, so that fifteen hundred lines of 1 ms each take their time one by one,
// however many goroutines write them.
func TestTerminalIsOneLock(t *testing.T) {
	const writers, lines, cost = 15, 100, time.Millisecond
	var took time.Duration
	err := bubble.Run(t.Context(), func(context.Context) error {
		sink, err := NewTerminal(cost, emu.Sleep)
		if err != nil {
			return err
		}
		began := time.Now()
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range lines {
					_, _ = fmt.Fprintln(sink, "a line") // never fails
				}
			})
		}
		wg.Wait()
		took = time.Since(began)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := (writers*lines - TerminalBuffer) * cost; took != want {
		t.Errorf("took %v, want %v: all lines but those the terminal took ahead", took, want)
	}
}

// A terminal shows idle time no more than once.
func TestTerminalIdle(t *testing.T) {
	err := bubble.Run(t.Context(), func(context.Context) error {
		sink, err := NewTerminal(time.Millisecond, emu.Sleep)
		if err != nil {
			return err
		}
		for range 2 {
			time.Sleep(time.Second)
			began := time.Now()
			for range TerminalBuffer + 10 {
				if _, err := sink.Write([]byte("x\n")); err != nil {
					return err
				}
			}
			if took := time.Since(began); took != 10*time.Millisecond {
				return fmt.Errorf("took %v, want 10ms", took)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A pipe whose reader is slow makes writers wait, and Close frees them.
func TestSlowPipe(t *testing.T) {
	p, err := NewSlowPipe(1)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		line := bytes.Repeat([]byte("x"), 100)
		for {
			if _, err := p.Write(line); err != nil {
				ended <- err
				return
			}
		}
	}()
	select {
	case err := <-ended:
		t.Fatalf("the writer ended: %v", err)
	case <-time.After(100 * time.Millisecond): // it waits for the reader by now, or soon
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("a write to a closed pipe succeeded")
	}
}

func TestSinkErrors(t *testing.T) {
	if _, err := NewTerminal(0, emu.Sleep); !errors.Is(err, ErrSink) {
		t.Error(err)
	}
	if _, err := NewSlowPipe(0); !errors.Is(err, ErrSink) {
		t.Error(err)
	}
}
