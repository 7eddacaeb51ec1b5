package fake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"latlab.example/common/emu"
	"latlab.example/spatial/data"
)

// Cost is the CPU time that a server's work takes.
type Cost struct {
	Connect   time.Duration // a new connection
	Statement time.Duration // each statement, whatever it is
	Order     time.Duration // to begin to read an index in the order of distance
	Near      time.Duration // each row that an index gives in the order of distance
	Visit     time.Duration // each other row that it looks at
	Row       time.Duration // each row that it sends
	Plan      time.Duration // planning: a statement without a name each time, a prepared one the first five times on its backend
	Burn      time.Duration // each number of spatial.Burn
}

// Typical is what PostgreSQL 15 with PostGIS 3.3 took on a shared machine of two
// cores, once its plans and pages were warm: within a factor of two, as one row
// of a dense city costs more than one of a village (BenchmarkMeasuredCosts).
func Typical() Cost {
	return Cost{
		Connect:   3 * time.Millisecond,
		Statement: 30 * time.Microsecond,
		Order:     600 * time.Microsecond,
		Near:      4 * time.Microsecond,
		Visit:     2 * time.Microsecond,
		Row:       500 * time.Nanosecond,
		Plan:      150 * time.Microsecond,
		Burn:      80 * time.Nanosecond,
	}
}

// CPU is what the server's work is done on. A *bubble.CPU is one: statements
// share its cores alike.
type CPU interface {
	// Use takes so much time of one core and returns when it has got it, or ctx's
	// error if that ends before.
	Use(ctx context.Context, work time.Duration) error
}

// Config shapes a server. Only Data and Waiter are needed.
type Config struct {
	Data   *data.Set
	Waiter emu.Waiter // emu.Spin; in a bubble emu.Sleep

	// Listen is called by New and by each Start; nil is a free port of 127.0.0.1,
	// the same one after a restart.
	Listen func() (net.Listener, error)

	Cost  Cost
	Cores int // on which statements queue in order of arrival; no limit if zero
	CPU   CPU // instead of Cores
	// Hold is what a statement of package spatial takes beside the CPU, drawn by
	// what it asks for: storage, say. nil is none.
	Hold emu.Latency
	Seed uint64 // of Hold

	MaxConns int // more are refused with SQL error 53300; 100 if zero
	// Backends is how many server processes the connections share, as behind a
	// transaction pooler: each transaction may get another one, with the prepared
	// statements that are there. 0 is one for each connection.
	Backends int
	// CancelDelay is how long after a cancel request was taken its signal comes. It
	// hits whatever the connection then runs.
	CancelDelay time.Duration

	// Faults are for operations connect, cancel, search, lookup and statement, which
	// is every statement, whatever it is. Their kinds mean: error, SQL error 58000,
	// or 57P03 for connect; reset, the connection breaks instead of an answer; short,
	// half of the answer comes and then nothing; torn, half of it and the
	// connection breaks; slow, the answer comes later. A cancel is lost, or slow.
	Faults *emu.Schedule
}

// ErrConfig occurs when a Config can't be; it comes wrapped with why.
var ErrConfig = errors.New("not a server")

var operations = []string{"connect", "cancel", "search", "lookup", "statement"}

func (c *Config) fill() error {
	if c.MaxConns == 0 {
		c.MaxConns = 100
	}
	switch {
	case c.Data == nil:
		return fmt.Errorf("fake: %w: it has no data; make some with data.New", ErrConfig)
	case c.Waiter == nil:
		return fmt.Errorf("fake: %w: it needs a waiter: emu.Spin, or emu.Sleep in a bubble", ErrConfig)
	case min(c.Cost.Connect, c.Cost.Statement, c.Cost.Order, c.Cost.Near, c.Cost.Visit, c.Cost.Row, c.Cost.Plan, c.Cost.Burn, c.CancelDelay) < 0:
		return fmt.Errorf("fake: %w: costs and delays can't be negative", ErrConfig)
	case c.Cores < 0 || c.MaxConns < 0 || c.Backends < 0:
		return fmt.Errorf("fake: %w: cores, connections and backends can't be negative", ErrConfig)
	case c.Cores > 0 && c.CPU != nil:
		return fmt.Errorf("fake: %w: Cores and CPU both say where statements run; set one", ErrConfig)
	}
	if err := c.Faults.Check(operations...); err != nil {
		return fmt.Errorf("fake: %w", err)
	}
	return nil
}
