package fake

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"latlab.example/common/emu"
)

// Profile is how far away the server is. The zero Profile takes no time of its own.
type Profile struct {
	Name string
	// FirstByte is the time from a request's arrival to the first byte of its
	// answer; nil is none. It is drawn by operation and key.
	FirstByte emu.Latency
	// Connect is added to a connection's first answer. It stands for the round
	// trip of the connection itself, which the kernel makes before the server
	// knows.
	Connect time.Duration
	// PerConnection and Total are bandwidths for bodies, in bytes a second, of one
	// connection and of all together; 0 is no limit. Connections share the total
	// alike.
	PerConnection, Total int64
}

// Profiles are those that have a name. The figures of lan and wan are assumed: a
// store in the next rack, and one in another city.
func Profiles() []Profile {
	return []Profile{
		{Name: "loopback"},
		{
			Name: "lan", FirstByte: quantiles(
				emu.Quantile{Percent: 0, Value: 400 * time.Microsecond}, emu.Quantile{Percent: 50, Value: 500 * time.Microsecond},
				emu.Quantile{Percent: 99, Value: time.Millisecond}, emu.Quantile{Percent: 100, Value: 2 * time.Millisecond}),
			Connect: 200 * time.Microsecond, PerConnection: 400e6, Total: 1_200e6,
		},
		{
			Name: "wan", FirstByte: quantiles(
				emu.Quantile{Percent: 0, Value: 28 * time.Millisecond}, emu.Quantile{Percent: 50, Value: 30 * time.Millisecond},
				emu.Quantile{Percent: 99, Value: 45 * time.Millisecond}, emu.Quantile{Percent: 100, Value: 90 * time.Millisecond}),
			Connect: 20 * time.Millisecond, PerConnection: 50e6, Total: 125e6,
		},
	}
}

// ErrProfile occurs when no profile has that name.
var ErrProfile = errors.New("no such profile")

// ProfileNamed finds a profile by name. The error wraps ErrProfile.
func ProfileNamed(name string) (Profile, error) {
	var names []string
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Profile{}, fmt.Errorf("fake: %w: %q; there are %s", ErrProfile, name, strings.Join(names, ", "))
}

// Assumptions are what a result on the fake takes for granted.
func (p Profile) Assumptions() []string {
	all := []string{"the object store is a fake in memory: it has no disk, and serves any number of requests at once"}
	if !p.waits() {
		return append(all, "store profile "+p.String()+": it shows which code ran, not how long a store takes")
	}
	return append(all, "store profile "+p.String()+": assumed, not measured",
		"connecting to the store costs "+p.Connect.String()+", charged to a connection's first answer")
}

// String is the profile's name and figures.
func (p Profile) String() string {
	if !p.waits() {
		return fmt.Sprintf("%s (no time of its own)", p.name())
	}
	first := "none"
	if p.FirstByte != nil {
		first = p.FirstByte.String()
	}
	return fmt.Sprintf("%s (first byte %s, connect %v, %s a connection, %s in all)", p.name(), first, p.Connect, rate(p.PerConnection), rate(p.Total))
}

func (p Profile) name() string {
	if p.Name == "" {
		return "own"
	}
	return p.Name
}

func (p Profile) waits() bool {
	return p.FirstByte != nil || p.Connect > 0 || p.PerConnection > 0 || p.Total > 0
}

func rate(bytesPerSec int64) string {
	if bytesPerSec == 0 {
		return "no limit"
	}
	return fmt.Sprintf("%g MB/s", float64(bytesPerSec)/1e6)
}

// quantiles makes a latency of a table that is known to be one.
func quantiles(table ...emu.Quantile) emu.Latency {
	l, err := emu.Empirical(table...)
	if err != nil {
		panic(err)
	}
	return l
}
