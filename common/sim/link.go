package sim

import "time"

// Link is one way of a network: a wire that carries one message after another,
// and a delay, drawn for each message, in which any number are on their way. A
// message whose delay is short may overtake another.
type Link struct {
	station
	delay Dist
	rand  *Rand
	wire  wire
}

// Link makes a link. bytesPerSec is its bandwidth; 0 is one without a limit.
func (s *Sim) Link(name string, delay Dist, bytesPerSec int64) *Link {
	l := &Link{delay: delay, rand: s.Rand("link " + name), wire: wire{rate: bytesPerSec}}
	l.open(s, "link", name, 0, l)
	return l
}

// Send returns when a message of so many bytes has arrived.
func (l *Link) Send(p *Proc, bytes int64) {
	l.pass()
	since := l.startHold()
	sent := l.wire.send(l.sim.now, bytes) - l.sim.now
	p.Sleep(time.Duration(sent) + l.delay.Draw(l.rand))
	l.endHold(since)
}
