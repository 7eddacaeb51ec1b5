package blockdev

import (
	"context"
	"fmt"
	"os"
)

// The environment names the device of real runs.
const (
	DeviceVariable  = "LATLAB_NVME_DEV"     // its path
	ConsentVariable = "LATLAB_NVME_CONFIRM" // its Plan.Phrase
)

// FromEnv opens the device that the environment names, as Open does. Its error
// is ErrNoDevice if none is named.
func FromEnv(ctx context.Context, bytes int64) (*Device, error) {
	path, consent, err := fromEnv()
	if err != nil {
		return nil, err
	}
	return Open(ctx, path, consent, bytes)
}

// ProbeEnv says whether FromEnv would open the whole device now, or why not. It
// reads only.
func ProbeEnv(ctx context.Context) error {
	path, consent, err := fromEnv()
	if err != nil {
		return err
	}
	p, err := Inspect(ctx, path, 0)
	if err != nil {
		return err
	}
	return p.Allows(consent)
}

func fromEnv() (path string, c Consent, err error) {
	path, c.Serial = os.Getenv(DeviceVariable), os.Getenv(ConsentVariable)
	if path == "" {
		err = fmt.Errorf("blockdev: %w: %s is not set; `make nvme-plan DEV=/dev/...` shows what a run would write to, `make nvme DEV=/dev/... CONFIRM=<serial>` runs", ErrNoDevice, DeviceVariable)
	}
	return path, c, err
}
