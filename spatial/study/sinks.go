//go:build !js

package study

import (
	"io"
	"os"

	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/spatial"
)

// openLog opens an arm's row log. A terminal's lines are waited for by timers on
// any rig: it takes lines ahead for longer than a timer is late.
func openLog(a lab.Arm) (log *spatial.RowLog, done func() error, err error) {
	var sink io.Writer
	done = func() error { return nil }
	switch name := SinkName(label(a, "sink", string(Discard))); name {
	case Discard:
		sink = io.Discard
	case File:
		f, err := os.CreateTemp("", "latlab-rowlog-*")
		if err != nil {
			return nil, nil, err
		}
		sink, done = f, func() error {
			if err := f.Close(); err != nil {
				return err
			}
			return os.Remove(f.Name())
		}
	case Pipe:
		p, err := spatial.NewSlowPipe(pipeRate)
		if err != nil {
			return nil, nil, err
		}
		sink, done = p, p.Close
	default:
		if sink, err = spatial.NewTerminal(lineCost[name], emu.Sleep); err != nil {
			return nil, nil, err
		}
	}
	log, err = spatial.NewRowLog(sink, spatial.LogLevel(label(a, "rowlog", string(spatial.LogOff))))
	if err != nil {
		return nil, nil, err
	}
	return log, done, nil
}
