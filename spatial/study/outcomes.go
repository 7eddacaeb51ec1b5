package study

import (
	"errors"

	"latlab.example/common/lab"
)

// Outcomes beside the mean response time. Percents are of the requests that
// completed and weren't cancelled.
var (
	p50       = lab.Unit{Name: "p50-ns/op", Better: lab.Down}
	p95       = lab.Unit{Name: "p95-ns/op", Better: lab.Down}
	perSec    = lab.Unit{Name: "req/s", Better: lab.Up}
	success   = lab.Unit{Name: "success-percent", Better: lab.Up}
	slow      = lab.Unit{Name: "slow-percent", Better: lab.Down} // slowAfter or more, failures too
	timeouts  = lab.Unit{Name: "timeout-percent", Better: lab.Down}
	cancelled = lab.Unit{Name: "cancelled/op", Better: lab.Down}

	held    = lab.Unit{Name: "held-ns/op", Better: lab.Down}         // that connections were kept
	poolUse = lab.Unit{Name: "pool-percent", Better: lab.Down}       // of all connections' time, that they were held
	pending = lab.Unit{Name: "pending", Better: lab.Down}            // requests without a connection, sampled
	zero    = lab.Unit{Name: "read-empty-percent", Better: lab.Down} // samples that found no connection in use

	clientCPU = lab.Unit{Name: "client-cpu-ns/op", Better: lab.Down} // of this process, what is simulated in it included
	serverCPU = lab.Unit{Name: "server-cpu-ns/op", Better: lab.Down} // of a real server on this host
	queries   = lab.Unit{Name: "queries/op", Better: lab.Down}
	opened    = lab.Unit{Name: "connects/op", Better: lab.Down}

	// modelOff is how far the response time is from the closed model's, with the
	// hold time that was measured; littleOff how far X (R + Z) is from N.
	modelOff  = lab.Unit{Name: "off-model-percent", Better: lab.Down}
	littleOff = lab.Unit{Name: "off-little-percent", Better: lab.Down}
)

var outcomes = []lab.Unit{
	p50, p95, perSec, success, slow, timeouts, cancelled,
	held, poolUse, pending, zero, clientCPU, serverCPU, queries, opened, modelOff, littleOff,
}

// gain is the mean response time with ten connections over that with fifteen, as
// the trial's order gives it.
var gain = lab.Unit{Name: "gain-x", Better: lab.Up}

// errNone occurs when no request completed in a trial.
var errNone = errors.New("no request completed in the window")
