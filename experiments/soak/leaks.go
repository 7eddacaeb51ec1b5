package soak

import (
	"fmt"
	"net"
	"os"
	"time"

	"go.uber.org/goleak"
)

// patience is for what ends in its own time, such as a connection whose other end
// was closed. Tests of this package have less.
var patience = 5 * time.Second

// goroutines waits until no more of them run than before.
func goroutines(before goleak.Option) error {
	end := time.Now().Add(patience)
	for {
		err := goleak.Find(before) // tries for a second
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %w", ErrLeak, err)
		}
	}
}

// descriptorFolder lists the process's descriptors, where there is such a thing.
const descriptorFolder = "/proc/self/fd"

// descriptors is how many the process has open; -1 where that isn't known.
func descriptors() int {
	all, err := os.ReadDir(descriptorFolder)
	if err != nil {
		return -1
	}
	return len(all)
}

// settle waits until no more descriptors are open than before.
func settle(before int) error {
	now := descriptors()
	for end := time.Now().Add(patience); now > before && time.Now().Before(end); now = descriptors() {
		time.Sleep(10 * time.Millisecond)
	}
	if now <= before {
		return nil
	}
	return fmt.Errorf("%w: %d descriptors are open, %d were before: %q", ErrLeak, now, before, openFiles())
}

// openFiles says what descriptors stand for.
func openFiles() (names []string) {
	all, _ := os.ReadDir(descriptorFolder)
	for _, e := range all {
		if to, err := os.Readlink(descriptorFolder + "/" + e.Name()); err == nil {
			names = append(names, to)
		}
	}
	return names
}

// wake has Go open what it keeps for good once a program uses the network.
func wake() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	return l.Close()
}
