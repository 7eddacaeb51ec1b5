//go:build !js

package study

import (
	"sync"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/app"
	"latlab.example/coldfetch/exec"
	"latlab.example/coldfetch/probe"
	"latlab.example/coldfetch/proxy"
	"latlab.example/common/metrics"
)

// observed is what a stack saw of a trial. It travels from the service's process
// as JSON.
type observed struct {
	Stages             metrics.Snapshot
	Lines              []line
	Turns              exec.Turns
	HealthOwn          metrics.Dist
	Docs, Health, List proxy.Seen
	Builds             uint64
	Gets               uint64 // that the fake store was asked

	Wall              bool // the rest is known
	Lag, Sched, Timer probe.Reading
	CPUPercent        float64 // of one core, of the service's process
}

// line is a timeline without its stage set.
type line struct {
	From, To  int64
	Intervals []metrics.Interval
}

type timeline struct{ metrics.Timeline }

func (l line) timeline() timeline {
	return timeline{metrics.Timeline{Set: coldfetch.Stages, From: l.From, To: l.To, Intervals: l.Intervals}}
}

func (t timeline) has(s metrics.Stage) bool {
	for _, i := range t.Intervals {
		if i.Stage == s {
			return true
		}
	}
	return false
}

// lines keeps the timelines of a recorder.
type lines struct {
	mu  sync.Mutex
	all []line // guarded by mu
}

func (l *lines) keep(tl metrics.Timeline) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line{tl.From, tl.To, tl.Intervals})
}

func (l *lines) take() []line {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// recorder times a service's stages into l.
func (l *lines) recorder() *metrics.Recorder {
	return metrics.NewRecorder(coldfetch.Stages, metrics.WithSwitch(true), metrics.WithTimelines(l.keep))
}

// config is the part of a stack's configuration that a setting has.
func (s setting) config() app.Config {
	return app.Config{
		Sync: s.Sync, Mode: s.Mode, Flight: s.Flight, CacheEntries: s.Cache, Gzip: s.Gzip, Profile: s.Profile,
		Nodes: s.Nodes, ProxyBuffer: s.Buffer,
	}
}

// observe reads what a stack saw, once it has dealt with all that came.
func observe(s *app.Stack, l *lines) observed {
	s.Quiet()
	return observed{
		Stages: s.Service.Recorder().Snapshot(), Lines: l.take(), Turns: s.Turns(), Builds: s.Service.Builds(), HealthOwn: s.Service.Own(coldfetch.HealthRoute),
		Docs: s.Proxy.Seen(string(coldfetch.DocRoute)), Health: s.Proxy.Seen(string(coldfetch.HealthRoute)), List: s.Proxy.Seen(string(coldfetch.ListRoute)),
	}
}
