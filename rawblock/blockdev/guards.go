package blockdev

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// guards are the refusals that follow from what the kernel says of the device's
// kind and uses. They are all found, not only the first.
func (s system) guards(d disk) []error {
	var refused []error
	add := func(errs ...error) {
		for _, err := range errs {
			if err != nil {
				refused = append(refused, err)
			}
		}
	}
	if p, ok := s.parent(d); ok {
		add(fmt.Errorf("%w; %s is its disk", ErrPartition, p.name))
	}
	if d.text("ro") != "0" {
		add(fmt.Errorf("%w", ErrReadOnly))
	}
	add(s.stacked(d), s.rooted(d))
	add(s.uses(d)...)
	partitions, err := d.partitions()
	add(err)
	for _, p := range partitions {
		for _, err := range s.uses(p) {
			add(fmt.Errorf("%w: %s: %w", ErrPartitionInUse, p.name, err))
		}
	}
	return refused
}

// stacked refuses a device that lies on others.
func (s system) stacked(d disk) error {
	parts, err := d.list("slaves")
	if err != nil {
		return err
	}
	if len(parts) > 0 {
		return fmt.Errorf("%w: %s; take a disk that has no layer between", ErrStacked, strings.Join(parts, ", "))
	}
	file := d.text("loop/backing_file")
	if n, err := s.numberOf(file); err == nil {
		return fmt.Errorf("%w: a loop on %s (%s); name that one", ErrStacked, file, n)
	}
	return nil
}

// rooted refuses a device that the root file system lies on, through any layers.
func (s system) rooted(d disk) error {
	mounts, err := s.mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.point != "/" {
			continue
		}
		n := m.number
		if n.Major == 0 { // no device of its own
			if n, err = s.numberOf(m.source); err != nil {
				continue // in memory, or layers whose parts aren't shown here: O_EXCL must do
			}
		}
		carriers, err := s.below(n, nil)
		if err != nil {
			return err
		}
		mine := []Number{d.number}
		if p, ok := s.parent(d); ok {
			mine = append(mine, p.number)
		}
		for _, n := range mine {
			if slices.Contains(carriers, n) {
				return fmt.Errorf("%w", ErrRoot)
			}
		}
	}
	return nil
}

// uses are the refusals for what the device itself, or a partition, is used for.
func (s system) uses(d disk) []error {
	var refused []error
	mounts, err := s.mounts()
	if err != nil {
		refused = append(refused, err)
	}
	for _, m := range mounts {
		if s.on(m, d.number) {
			refused = append(refused, fmt.Errorf("%w on %s; unmount it if it may be lost", ErrMounted, m.point))
			break
		}
	}
	swaps, err := s.swaps()
	if err != nil {
		refused = append(refused, err)
	}
	if slices.Contains(swaps, d.number) {
		refused = append(refused, fmt.Errorf("%w; take another", ErrSwap))
	}
	holders, err := d.list("holders")
	loops, err2 := s.loopsOn(d.number)
	if err = errors.Join(err, err2); err != nil {
		refused = append(refused, err)
	}
	if holders = append(holders, loops...); len(holders) > 0 {
		refused = append(refused, fmt.Errorf("%w: %s; take it apart first", ErrHeld, strings.Join(holders, ", ")))
	}
	return refused
}
