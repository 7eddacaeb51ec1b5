package calibrate

import (
	"fmt"

	"latlab.example/common/sim/param"
)

// Table is the calibration as parameters, so that each can be varied.
func (c Calibration) Table() param.Table {
	on := param.Calibrated("host " + c.Host.Place())
	add := func(all []param.Param, name string, u param.Unit, v int64, what string) []param.Param {
		return append(all, param.Param{Name: name, Unit: u, Value: v, Lo: (v + 1) / 2, Hi: 2 * v, Source: on, What: what})
	}
	var all []param.Param
	for _, path := range []Path{Call, Ring} {
		d, ok := c.Fits[path]
		if !ok {
			continue
		}
		of := fmt.Sprintf("%s (the fit is off by %.0f %%)", path, 100*d.Residual)
		all = add(all, string(path)+"-write-cpu", param.Time, int64(d.PerWrite), "a core's work on a write by "+of)
		all = add(all, string(path)+"-service", param.Time, int64(d.Service), "the device's time for a write by "+of)
		all = add(all, string(path)+"-channels", param.Count, int64(d.Channels), "writes that are served at once by "+of)
		all = add(all, string(path)+"-bandwidth", param.Rate, d.BytesPerSec, "bytes a second by "+of)
	}
	for _, x := range c.CPU {
		all = add(all, fmt.Sprintf("loop-cpu-%d", x.Payload), param.Time, int64(x.Loop), fmt.Sprintf("the store's work on a key of %d bytes, one after the other", x.Payload))
		all = add(all, fmt.Sprintf("batch-cpu-%d", x.Payload), param.Time, int64(x.Batch), fmt.Sprintf("the store's work on a key of %d bytes in a batch", x.Payload))
		all = add(all, fmt.Sprintf("dispatch-%d", x.Payload), param.Time, int64(x.Dispatch), fmt.Sprintf("a goroutine for a key of %d bytes", x.Payload))
	}
	return param.New(all...)
}

// Varied is the calibration with the values of a table that Table made.
func (c Calibration) Varied(t param.Table) Calibration {
	fits := make(map[Path]Device)
	for _, path := range []Path{Call, Ring} {
		d, ok := c.Fits[path]
		if !ok {
			continue
		}
		d.PerWrite, d.Service = t.Time(string(path)+"-write-cpu"), t.Time(string(path)+"-service")
		d.Channels, d.BytesPerSec = max(t.Count(string(path)+"-channels"), 1), t.Rate(string(path)+"-bandwidth")
		fits[path] = d
	}
	c.Fits = fits
	var costs []Cost
	for _, x := range c.CPU {
		costs = append(costs, Cost{x.Payload, t.Time(fmt.Sprintf("loop-cpu-%d", x.Payload)), t.Time(fmt.Sprintf("batch-cpu-%d", x.Payload)), t.Time(fmt.Sprintf("dispatch-%d", x.Payload))})
	}
	c.CPU = costs
	return c
}
