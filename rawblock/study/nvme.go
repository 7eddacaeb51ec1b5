package study

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"latlab.example/common/lab"
	"latlab.example/rawblock/blockdev"
)

// onDevice is the rig of a real block device, which the environment names and
// consents to (blockdev.DeviceVariable, blockdev.ConsentVariable).
func onDevice(name string, b build) lab.Rig {
	return lab.Real(name, probeDevice, func(ctx context.Context, a lab.Arm) (lab.Subject, error) {
		dev, err := device.borrow(ctx)
		if err != nil {
			return nil, err
		}
		s, err := onDisk(blockdev.Kept{Device: dev}, dev.Plan().Path, a, b)
		if err != nil {
			return nil, errors.Join(err, device.giveBack())
		}
		s.after = device.giveBack
		return s, nil
	})
}

func probeDevice(ctx context.Context) error {
	const do = "`make nvme-plan DEV=/dev/...` shows what a run would write to, `make nvme DEV=/dev/... CONFIRM=<serial>` runs"
	err := device.probe(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, blockdev.ErrNoDevice):
		return &lab.Unavailable{Need: "nvme", Why: "no real device is named", Do: do}
	}
	return &lab.Unavailable{Need: "nvme", Why: err.Error(), Do: do}
}

// device is the one device of all arms of a run. Each arm is a store of its own
// on the same range: arms run in turn, and a put never reads what another arm
// left. It is open, and nobody else's, from the first arm to the last.
var device shared

type shared struct {
	mu    sync.Mutex // guards what follows
	dev   *blockdev.Device
	users int
}

// deviceRange is how much of the device is written at most.
const deviceRange = 1 << 30

func (s *shared) borrow(ctx context.Context) (*blockdev.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dev == nil {
		p, err := blockdev.FromEnv(ctx, 0)
		if err != nil {
			return nil, err
		}
		if p.Size() > deviceRange {
			if err := p.Close(); err != nil {
				return nil, err
			}
			if p, err = blockdev.FromEnv(ctx, deviceRange); err != nil {
				return nil, err
			}
		}
		s.dev = p
	}
	s.users++
	return s.dev, nil
}

func (s *shared) giveBack() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	dev := s.dev
	s.dev = nil
	if err := dev.Close(); err != nil {
		return fmt.Errorf("close the device: %w", err)
	}
	return nil
}

// probe asks the environment, unless the device is open already.
func (s *shared) probe(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dev != nil {
		return nil
	}
	return blockdev.ProbeEnv(ctx)
}
