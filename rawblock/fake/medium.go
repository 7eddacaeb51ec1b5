package fake

import (
	"fmt"
	"time"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
)

// Medium decides when requests complete. It computes and never waits, so that
// the same code serves a fake in wall-clock time and a calculation. It is not
// safe for concurrent use: Device locks it.
type Medium interface {
	// Serve takes requests that arrive together at now and says when the last is
	// complete, and how long they stayed in the device, added up.
	Serve(now time.Time, ws []rawblock.IO) (done time.Time, stay time.Duration)
}

// What each medium takes for granted, a sentence each.
var (
	OneWaitAssumptions = []string{
		"the device completes any number of requests in parallel, a batch after one latency",
		constantTime,
	}
	UnbatchedHeadersAssumptions = []string{
		"separate headers of a batch are written and awaited one after the other, its payloads together after one latency",
		"calls that overlap don't disturb each other",
		constantTime,
	}
	ChannelsAssumptions = []string{
		"the device serves as many requests at once as it has channels, first come first served",
		constantTime,
	}
)

const constantTime = "each request takes the same time, whatever its size"

// OneWait completes a batch of any size after one latency. Calls that overlap
// don't disturb each other.
type OneWait struct{ Latency *emu.Sampler }

// Serve takes the longest latency that is drawn.
func (m OneWait) Serve(now time.Time, ws []rawblock.IO) (time.Time, time.Duration) {
	var longest, stay time.Duration
	for _, w := range ws {
		d := m.Latency.Next(uint64(w.Off))
		longest = max(longest, d)
		stay += d
	}
	return now.Add(longest), stay
}

// UnbatchedHeaders completes the payloads of a batch after one latency, but
// takes each separate header by itself, one after the other, before them.
type UnbatchedHeaders struct{ Latency *emu.Sampler }

// Serve adds up the headers' latencies and then takes the longest of the rest.
func (m UnbatchedHeaders) Serve(now time.Time, ws []rawblock.IO) (time.Time, time.Duration) {
	var headers, longest, stay time.Duration
	for _, w := range ws {
		d := m.Latency.Next(uint64(w.Off))
		if w.HeaderOnly {
			headers += d
		} else {
			longest = max(longest, d)
		}
		stay += d
	}
	return now.Add(headers + longest), stay
}

// Channels serves K requests at once, first come first served. A request holds
// its channel for its latency, and for its bytes at PerChannel bytes a second.
type Channels struct {
	latency    *emu.Sampler
	perChannel int64
	freeAt     []time.Time // a heap: the earliest first
}

// NewChannels makes a device of k channels. perChannel is each channel's
// bandwidth in bytes a second; 0 means that size costs nothing.
func NewChannels(k int, latency *emu.Sampler, perChannel int64) (*Channels, error) {
	if k < 1 || perChannel < 0 {
		return nil, fmt.Errorf("fake: %d channels of %d bytes/s: there must be at least one channel and bandwidth must not be negative", k, perChannel)
	}
	return &Channels{latency: latency, perChannel: perChannel, freeAt: make([]time.Time, k)}, nil
}

// Serve gives each request to the channel that is free first.
func (m *Channels) Serve(now time.Time, ws []rawblock.IO) (done time.Time, stay time.Duration) {
	for _, w := range ws {
		start := m.freeAt[0]
		if start.Before(now) {
			start = now
		}
		service := m.latency.Next(uint64(w.Off))
		if m.perChannel > 0 {
			service += time.Duration(float64(len(w.Buf)) / float64(m.perChannel) * float64(time.Second))
		}
		end := start.Add(service)
		m.occupy(end)
		stay += end.Sub(now)
		if end.After(done) {
			done = end
		}
	}
	return done, stay
}

// occupy makes the channel that is free first free at t, and restores the heap.
func (m *Channels) occupy(t time.Time) {
	h, i := m.freeAt, 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].Before(h[child]) {
			child++
		}
		if !h[child].Before(t) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = t
}
