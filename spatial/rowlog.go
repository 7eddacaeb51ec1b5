package spatial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// LogLevel is how much a request logs of its answer.
type LogLevel string

// The levels of the row log.
const (
	LogOff     LogLevel = "off"     // nothing
	LogSummary LogLevel = "summary" // a line a request, at slog.LevelInfo
	LogRows    LogLevel = "row"     // a line a row beside it, at slog.LevelDebug
)

// ErrLogLevel occurs when a level of the row log isn't off, summary or row.
var ErrLogLevel = errors.New("no such level of the row log")

var slogLevels = map[LogLevel]slog.Level{LogOff: slog.LevelError + 1, LogSummary: slog.LevelInfo, LogRows: slog.LevelDebug}

// RowLog writes what a request found through log/slog. Its level may be changed
// while requests are under way. All methods may be called by any number of
// goroutines.
type RowLog struct {
	level  slog.LevelVar
	logger *slog.Logger
}

// NewRowLog makes a log of lines. Each line is one Write to sink, which must
// bear calls from several goroutines at once: an *os.File does, and what this
// package makes. The caller closes the sink.
func NewRowLog(sink io.Writer, level LogLevel) (*RowLog, error) {
	l := &RowLog{}
	if err := l.SetLevel(level); err != nil {
		return nil, err
	}
	l.logger = slog.New(newLines(sink, &l.level))
	return l, nil
}

// SetLevel changes the level. The error wraps ErrLogLevel.
func (l *RowLog) SetLevel(level LogLevel) error {
	v, ok := slogLevels[level]
	if !ok {
		return fmt.Errorf("%w: %q; use %s, %s or %s", ErrLogLevel, level, LogOff, LogSummary, LogRows)
	}
	l.level.Set(v)
	return nil
}

// Level is the present level.
func (l *RowLog) Level() LogLevel {
	for name, v := range slogLevels {
		if v == l.level.Level() {
			return name
		}
	}
	panic("spatial: a level of the row log that SetLevel doesn't set")
}

// answered logs an answer. The nil log does nothing.
func (l *RowLog) answered(ctx context.Context, q Query, places []Place) {
	if l == nil || !l.logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		for i := range places {
			p := &places[i]
			l.logger.LogAttrs(ctx, slog.LevelDebug, "place", slog.Int64("id", p.ID), slog.String("name", p.Name),
				slog.Float64("lon", p.Lon), slog.Float64("lat", p.Lat), slog.Float64("meters", p.Meters))
		}
	}
	l.logger.LogAttrs(ctx, slog.LevelInfo, "search", slog.Float64("lon", q.Lon), slog.Float64("lat", q.Lat),
		slog.Float64("radius", q.Radius), slog.Int("rows", len(places)))
}

// lines is a slog.Handler as slog.TextHandler, but it formats on its caller's
// own time and memory and holds no lock while it writes: how long lines wait for
// each other is for the sink to say.
type lines struct {
	sink  io.Writer
	level slog.Leveler
	with  []func(slog.Handler) slog.Handler
	ready sync.Pool // of *line
}

type line struct {
	buf    bytes.Buffer
	format slog.Handler
}

func newLines(sink io.Writer, level slog.Leveler, with ...func(slog.Handler) slog.Handler) *lines {
	h := &lines{sink: sink, level: level, with: with}
	h.ready.New = func() any {
		l := &line{}
		l.format = slog.NewTextHandler(&l.buf, &slog.HandlerOptions{Level: level})
		for _, w := range with {
			l.format = w(l.format)
		}
		return l
	}
	return h
}

func (h *lines) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

func (h *lines) Handle(ctx context.Context, r slog.Record) error {
	l := h.ready.Get().(*line)
	defer h.ready.Put(l)
	l.buf.Reset()
	if err := l.format.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.sink.Write(l.buf.Bytes())
	return err
}

func (h *lines) and(w func(slog.Handler) slog.Handler) slog.Handler {
	return newLines(h.sink, h.level, append(h.with[:len(h.with):len(h.with)], w)...)
}

func (h *lines) WithAttrs(as []slog.Attr) slog.Handler {
	return h.and(func(n slog.Handler) slog.Handler { return n.WithAttrs(as) })
}

func (h *lines) WithGroup(name string) slog.Handler {
	return h.and(func(n slog.Handler) slog.Handler { return n.WithGroup(name) })
}
