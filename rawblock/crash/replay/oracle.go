package replay

import (
	"bytes"
	"fmt"
	"strings"

	"latlab.example/rawblock"
)

// attempt is a put of an object that no other attempt has.
type attempt struct {
	key    rawblock.Key
	object []byte

	running   bool
	live      bool // stored and not deleted
	cancelled bool // deleted while running
	promised  bool // a crash may not take it while it is live
	listed    bool // a checkpoint may list it
	stuck     bool // came back after a crash, unreadable, and wasn't deleted since
	forbidden bool // deleted or failed before a checkpoint: it may not come back
}

// fact is something that the store's user learns or asks, after so many events
// of the device.
type fact struct {
	at    int
	apply func(*oracle)
	text  string
}

// oracle knows what may and must be found after a crash.
type oracle struct {
	mode     rawblock.Durability
	attempts []*attempt
	deletes  int
}

func (o *oracle) clone() *oracle {
	c := *o
	c.attempts = make([]*attempt, len(o.attempts))
	for i, a := range o.attempts {
		b := *a
		c.attempts[i] = &b
	}
	return &c
}

func (o *oracle) start(a attempt) {
	a.running = true
	o.attempts = append(o.attempts, &a)
}

func (o *oracle) end(number int, err error) {
	a := o.attempts[number]
	a.running = false
	a.live = err == nil
	a.promised = err == nil && o.mode == rawblock.Flushed
}

func (o *oracle) delete(k rawblock.Key) {
	o.deletes++
	for _, a := range o.attempts {
		if a.key == k {
			a.live, a.stuck = false, false
			a.cancelled = a.cancelled || a.running
		}
	}
}

// syncing says what a Sync that starts now will settle.
func (o *oracle) syncing() (settle func(*oracle)) {
	type kind struct{ live, listed bool }
	then := make([]kind, len(o.attempts))
	for i, a := range o.attempts {
		then[i] = kind{a.live, a.live || a.stuck || a.running && !a.cancelled}
		a.listed = a.listed || a.live || a.stuck
	}
	return func(o *oracle) {
		for i, k := range then {
			a := o.attempts[i]
			a.promised = a.promised || k.live
			a.forbidden = a.forbidden || !k.listed
		}
	}
}

// expect is what a key may hold after a crash.
type expect struct {
	must    []byte   // it must be this
	may     [][]byte // or it may be one of these, or absent
	damaged bool     // it may be there and not readable
}

func (o *oracle) expect(k rawblock.Key) expect {
	var e expect
	for _, a := range o.attempts {
		if a.key != k {
			continue
		}
		if a.live && a.promised {
			e.must = a.object
		}
		if !a.forbidden {
			e.may = append(e.may, a.object)
		}
		e.damaged = e.damaged || a.listed && !a.live && !a.forbidden || a.stuck
	}
	return e
}

// String tells apart what must be told apart: two moments with the same text
// allow the same.
func (o *oracle) String() string {
	var b strings.Builder
	for _, a := range o.attempts {
		fmt.Fprintf(&b, "%x %v %v %v %v %v\n", a.object[:min(8, len(a.object))], a.live, a.promised, a.listed, a.forbidden, a.stuck)
	}
	return b.String()
}

// crashed takes what was found as the store's content from now on.
func (o *oracle) crashed(found map[rawblock.Key][]byte, unreadable map[rawblock.Key]bool) *oracle {
	c := o.clone()
	for _, a := range c.attempts {
		got, ok := found[a.key]
		a.running, a.cancelled = false, false
		a.live = ok && bytes.Equal(got, a.object)
		a.promised = a.live
		a.stuck = unreadable[a.key] && a.listed && !a.live
	}
	return c
}
