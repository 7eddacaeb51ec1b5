package blockdev_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"latlab.example/rawblock/blockdev"
)

func plan() blockdev.Plan {
	return blockdev.Plan{
		Asked: "/dev/disk/by-id/nvme-Fast_One_S1", Path: "/dev/nvme1n1", Number: blockdev.Number{Major: 259, Minor: 3},
		Model: "Fast One", Serial: "S1", Size: 512 << 30, Block: 4096, Bytes: 64 << 20, Phrase: "S1",
	}
}

// A plan names what will be written to, and the phrase that consents.
func ExamplePlan_String() {
	fmt.Print(plan())
	// Output:
	// device    /dev/nvme1n1
	// asked     /dev/disk/by-id/nvme-Fast_One_S1
	// number    259:3
	// model     Fast One
	// serial    S1
	// size      549755813888 bytes (524288.0 MiB)
	// block     4096 bytes
	// range     bytes 0 to 67108863: 0.0 % of the device
	// writes    any byte of the range, from a store's superblock at 0 on; none outside it
	// content   first and last MiB are zero, no known signature
	// consent   S1
}

// Only the exact phrase consents, and no phrase overcomes a refusal.
func TestAllows(t *testing.T) {
	p := plan()
	if err := p.Allows(blockdev.Consent{Serial: "S1"}); err != nil {
		t.Error(err)
	}
	for _, phrase := range []string{"", "s1", "S1 ", "S", "S11", "yes", "/dev/nvme1n1"} {
		if err := p.Allows(blockdev.Consent{Serial: phrase}); !errors.Is(err, blockdev.ErrConsent) {
			t.Errorf("%q: %v, want ErrConsent", phrase, err)
		}
	}
	p.Refusals = []error{blockdev.ErrMounted, os.ErrPermission}
	err := p.Allows(blockdev.Consent{Serial: "S1"})
	if !errors.Is(err, blockdev.ErrMounted) || !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v, want all reasons", err)
	}
	if err := (blockdev.Plan{}).Allows(blockdev.Consent{}); !errors.Is(err, blockdev.ErrConsent) {
		t.Errorf("a plan that nobody made: %v", err)
	}
}
