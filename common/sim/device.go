package sim

import (
	"fmt"
	"math/bits"
	"time"
)

// Device is a block device: channels that work side by side, and a way to the
// host whose bandwidth they share. An operation waits for a channel in the order
// of arrival, has it for a service time that is drawn, then has it further while
// its bytes go over the shared way, one operation after another.
type Device struct {
	station
	service Dist
	rand    *Rand
	free    int
	waiters fifo[waiter]
	way     wire
}

// Device makes a device with so many channels. bytesPerSec is the bandwidth that
// the channels share; 0 is one without a limit.
func (s *Sim) Device(name string, channels int, service Dist, bytesPerSec int64) *Device {
	if channels < 1 {
		panic(fmt.Sprintf("sim: device %s with %d channels; it needs one", name, channels))
	}
	d := &Device{service: service, rand: s.Rand("device " + name), free: channels, way: wire{rate: bytesPerSec}}
	d.open(s, "device", name, channels, d)
	return d
}

// Do does one operation of so many bytes.
func (d *Device) Do(p *Proc, bytes int64) {
	if d.free > 0 {
		d.free--
		d.pass()
	} else {
		d.startWait()
		d.waiters.push(waiter{p, d.sim.now})
		p.waitAt(d)
	}
	since := d.startHold()
	p.Sleep(d.service.Draw(d.rand))
	if end := d.way.send(d.sim.now, bytes); end > d.sim.now {
		p.Sleep(time.Duration(end - d.sim.now))
	}
	d.endHold(since)
	if d.waiters.n == 0 {
		d.free++
		return
	}
	next := d.waiters.pop()
	d.endWait(next.since)
	d.sim.wake(next.p)
}

// Depth is the mean number of operations at the device in the window, waiting or
// served.
func (d *Device) Depth() float64 {
	u := d.Usage()
	return u.Waiting() + u.Inside()
}

func (d *Device) holders() ([]*Proc, bool) { return nil, false }

// wire carries bytes at a rate, one message after another.
type wire struct {
	rate int64 // bytes a second, 0 without a limit
	free int64 // when it is
}

// send takes the wire as soon as it is free, from now on, and is the time at
// which the last byte is through.
func (w *wire) send(now, bytes int64) int64 {
	if w.rate <= 0 || bytes <= 0 {
		return now
	}
	hi, lo := bits.Mul64(uint64(bytes), 1e9)
	if hi >= uint64(w.rate) {
		panic(fmt.Sprintf("sim: %d bytes at %d a second take longer than the clock runs", bytes, w.rate))
	}
	ns, rest := bits.Div64(hi, lo, uint64(w.rate))
	if rest > 0 {
		ns++
	}
	w.free = max(w.free, now) + int64(ns)
	return w.free
}
