package spatial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"latlab.example/common/emu"
)

// ErrSink occurs when a log sink can't be made as asked.
var ErrSink = errors.New("no such log sink")

// terminal stands for a sink that takes lines one by one, each for a stated
// time: a terminal, a console with an appender's lock, a collector.
type terminal struct {
	cost   time.Duration
	ahead  time.Duration
	waiter emu.Waiter
	turn   chan struct{} // holds one: a lock that may be held across a wait
	done   time.Time     // when the last line taken is through; whoever has the turn owns it
}

// TerminalBuffer is how many lines a terminal takes before a writer waits: 4 KiB
// of about a hundred bytes each.
const TerminalBuffer = 40

// NewTerminal makes a sink that shows one line after the other, in cost each,
// whoever wrote them. It takes TerminalBuffer lines ahead; so the waiter may be
// late by that many costs at most before lines are lost to it. The waiter comes
// from the rig. The error wraps ErrSink.
func NewTerminal(cost time.Duration, w emu.Waiter) (io.Writer, error) {
	if cost <= 0 {
		return nil, fmt.Errorf("%w: a terminal with %v a line; it takes more than nothing", ErrSink, cost)
	}
	t := &terminal{cost: cost, ahead: TerminalBuffer * cost, waiter: w, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t, nil
}

// Write returns when the terminal has room for the line. There is no giving up.
func (t *terminal) Write(p []byte) (int, error) {
	<-t.turn
	defer func() { t.turn <- struct{}{} }()
	now := t.waiter.Now()
	if t.done.Before(now) {
		t.done = now
	}
	t.done = t.done.Add(t.cost)
	if err := t.waiter.Until(context.Background(), t.done.Add(-t.ahead)); err != nil {
		return 0, fmt.Errorf("spatial: terminal: %w", err)
	}
	return len(p), nil
}

// SlowPipe is the writing end of a pipe whose reader is slow: the kernel's
// buffer fills up, and then every writer waits.
type SlowPipe struct {
	*os.File
	read *os.File
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// pipeChunk is what the reader takes at once.
const pipeChunk = 4096

// NewSlowPipe makes a pipe whose reader takes so many bytes a second. It works
// with real time only. Close it.
func NewSlowPipe(bytesPerSec int) (*SlowPipe, error) {
	if bytesPerSec <= 0 {
		return nil, fmt.Errorf("%w: a pipe read at %d bytes a second; the reader must make progress", ErrSink, bytesPerSec)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("spatial: pipe: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &SlowPipe{File: w, read: r, stop: stop}
	p.wg.Go(func() { p.drain(ctx, bytesPerSec) })
	return p, nil
}

// drain reads until the pipe is closed. A late timer is made up for.
func (p *SlowPipe) drain(ctx context.Context, bytesPerSec int) {
	buf := make([]byte, pipeChunk)
	due := time.Now()
	for {
		n, err := p.read.Read(buf)
		if err != nil {
			return
		}
		if now := time.Now(); due.Before(now.Add(-100 * time.Millisecond)) {
			due = now // it was idle: that time is not saved up
		}
		due = due.Add(time.Duration(n) * time.Second / time.Duration(bytesPerSec))
		if err := emu.Sleep.Until(ctx, due); err != nil {
			return
		}
	}
}

// Close closes both ends. What wasn't read is lost, and writers get an error.
func (p *SlowPipe) Close() error {
	p.stop()
	err := errors.Join(p.File.Close(), p.read.Close())
	p.wg.Wait()
	return err
}
