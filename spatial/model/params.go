package model

import (
	"time"

	"latlab.example/common/sim/param"
)

// Names of the parameters.
const (
	Service   = "service"
	Spread    = "spread"
	CPUShare  = "cpu-share"
	Encode    = "encode"
	RoundTrip = "round-trip"
	Guides    = "guides"
	Cores     = "cores"
	OneHost   = "one-host"
	Rows      = "rows"
	Line      = "line"
	LineCPU   = "line-cpu"
	Block     = "block-lines"
	Inflation = "inflation"
	Slice     = "spin-slice"
	Patience  = "patience"
	Retries   = "retries"
)

const (
	microsecond = int64(time.Microsecond)
	millisecond = int64(time.Millisecond)
)

// Study are the parameters of the study's service. The request's own work is the
// published time of the run in which nothing waited; one value is fitted by
// Calibrate.
func Study() param.Table {
	return param.New(
		param.Param{
			Name: Service, Value: 7280 * microsecond, Unit: param.Time, Lo: 3 * millisecond, Hi: 40 * millisecond,
			Source: param.Published("spatial.pool15.avg", "spatial.pool15.p95"), What: "median of a request's work where nothing waits; with its spread the mean is 10 ms",
		},
		param.Param{
			Name: Spread, Value: 3_710_000, Unit: param.Share, Lo: 1_000_000, Hi: 8_000_000,
			Source: param.Published("spatial.pool15.avg", "spatial.pool15.p95"), What: "95th percentile over median of that work: log-normal",
		},
		param.Param{
			Name: CPUShare, Value: 1_000_000, Unit: param.Share, Lo: 0, Hi: 1_000_000,
			Source: param.Assumed("places and index fit into memory"), What: "share of the statement's work that is CPU; the rest waits for storage and holds no core",
		},
		param.Param{
			Name: Encode, Value: 100_000, Unit: param.Share, Lo: 0, Hi: 500_000,
			Source: param.Assumed("a hundred rows to JSON"), What: "share of a request's work that the service does after the connection went back",
		},
		param.Param{
			Name: RoundTrip, Value: 200 * microsecond, Unit: param.Time, Lo: 0, Hi: 2 * millisecond,
			Source: param.Assumed("one host, or one rack"), What: "on the way to the database and back, a statement",
		},
		param.Param{
			Name: Guides, Value: 500 * microsecond, Unit: param.Time, Lo: 100 * microsecond, Hi: 5 * millisecond,
			Source: param.Assumed("two look-ups by key"), What: "CPU of the database for guides and media, where a request asks for them",
		},
		param.Param{
			Name: Cores, Value: 2, Unit: param.Count, Lo: 1, Hi: 8,
			Source: param.Assumed("46.27/s of 10 ms keep 0.46 cores busy; at a peak of 33 % that is two cores rather than eight"), What: "cores of the database",
		},
		param.Param{
			Name: OneHost, Value: 1, Unit: param.Count, Lo: 0, Hi: 1,
			Source: param.Assumed("one figure of CPU was published"), What: "1: the service works on the database's cores, 0: on as many of its own",
		},
		param.Param{
			Name: Rows, Value: 100, Unit: param.Count, Lo: 20, Hi: 500,
			Source: param.Published("spatial.rows_per_query"), What: "rows of an answer",
		},
		param.Param{
			Name: Line, Value: line, Unit: param.Time, Lo: 0, Hi: 800 * microsecond,
			Source: param.Calibrated("spatial.log.avg"), What: "time of the one serial log sink a line",
		},
		param.Param{
			Name: LineCPU, Value: 3 * microsecond, Unit: param.Time, Lo: microsecond, Hi: 50 * microsecond,
			Source: param.Assumed("what a line to a file costs"), What: "CPU of the service a line",
		},
		param.Param{
			Name: Block, Value: 0, Unit: param.Count, Lo: 0, Hi: 1,
			Source: param.Assumed("appenders lock a line at a time"), What: "1: a request's lines stay together in the sink, 0: they alternate with others'",
		},
		param.Param{
			Name: Inflation, Value: 0, Unit: param.Share, Lo: 0, Hi: 100_000,
			Source: param.Assumed("none: what switching costs was not published"), What: "how much more work a statement is for each job beyond the cores when it begins",
		},
		param.Param{
			Name: Slice, Value: millisecond, Unit: param.Time, Lo: 200 * microsecond, Hi: 4 * millisecond,
			Source: param.Assumed("a scheduler's"), What: "CPU that a spinning request burns between two looks at the pool",
		},
		param.Param{
			Name: Patience, Value: 30_000 * millisecond, Unit: param.Time, Lo: 2_000 * millisecond, Hi: 60_000 * millisecond,
			Source: param.Assumed("HikariCP's default"), What: "how long a request waits for a connection before it fails",
		},
		param.Param{
			Name: Retries, Value: 0, Unit: param.Count, Lo: 0, Hi: 3,
			Source: param.Assumed("none: the study says nothing of any"), What: "how often a request that failed is made again at once, while the database goes on with what was given up",
		},
	)
}

// line is what Calibrate finds, rounded. A test runs it again.
const line = 395 * int64(time.Microsecond)

// Assumptions are about the structure.
var Assumptions = []string{
	"users think for exponential times, ask, and wait for the answer; a run begins with a ramp, which isn't measured",
	"a request takes a connection in order of arrival, holds it for its statements and whatever else the arm holds it for, gives it back, and encodes",
	"cores are shared alike by all that compute on them; what is held for a time that is no CPU takes a connection and nothing else",
	"the log sink is one, and all requests share it; storage, plans and caches don't change within a run",
	"a request that is given up leaves its statement running and its connection taken until that ends",
}
