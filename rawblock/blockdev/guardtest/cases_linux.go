package guardtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"latlab.example/rawblock"
	"latlab.example/rawblock/blockdev"
)

// Case is a state of a device and the error with which it must be refused.
type Case struct {
	Name string
	Want error
	set  func(s *scratch) error
}

// Cases are all states that a scratch device can be put into.
func Cases() []Case {
	return []Case{
		{"no device named", blockdev.ErrNoDevice, func(s *scratch) error { s.path = ""; return nil }},
		{"no such path", os.ErrNotExist, func(s *scratch) error { s.path = s.dev + "-absent"; return nil }},
		{"character device", blockdev.ErrNotBlock, func(s *scratch) error { s.path = "/dev/zero"; return nil }},
		{"regular file", blockdev.ErrNotBlock, regularFile},
		{"partition", blockdev.ErrPartition, func(s *scratch) (err error) { s.path, err = s.partition(); return err }},
		{"read-only", blockdev.ErrReadOnly, readOnly},

		{"no consent", blockdev.ErrConsent, consent(func(string) string { return "" })},
		{"consent with a blank", blockdev.ErrConsent, consent(func(p string) string { return p + " " })},
		{"part of the consent", blockdev.ErrConsent, consent(func(p string) string { return p[:len(p)-1] })},
		{"consent to all", blockdev.ErrConsent, consent(func(string) string { return "*" })},
		{"range beyond the end", rawblock.ErrRange, func(s *scratch) error { s.bytes = s.size + 4096; return nil }},
		{"range of half a block", rawblock.ErrRange, func(s *scratch) error { s.bytes = 4096 + 256; return nil }},
		{"negative range", rawblock.ErrRange, func(s *scratch) error { s.bytes = -4096; return nil }},

		{"mounted", blockdev.ErrMounted, func(s *scratch) error { return s.mount(s.dev) }},
		{"mounted, through a link", blockdev.ErrMounted, linked},
		{"mounted, by another node", blockdev.ErrMounted, renamed},
		{"swap", blockdev.ErrSwap, func(s *scratch) error { return s.swapOn(s.dev) }},
		{"held by a device mapper", blockdev.ErrHeld, func(s *scratch) error { _, err := s.mapper(s.dev); return err }},
		{"held by a loop", blockdev.ErrHeld, func(s *scratch) error { _, err := s.loop(); return err }},
		{"device mapper on it", blockdev.ErrStacked, func(s *scratch) (err error) { s.path, err = s.mapper(s.dev); return err }},
		{"loop on it", blockdev.ErrStacked, func(s *scratch) (err error) { s.path, err = s.loop(); return err }},
		{"mounted partition", blockdev.ErrPartitionInUse, onPartition((*scratch).mount)},
		{"swap partition", blockdev.ErrPartitionInUse, onPartition((*scratch).swapOn)},
		{"held partition", blockdev.ErrPartitionInUse, onPartition(func(s *scratch, dev string) error { _, err := s.mapper(dev); return err })},
		{"held exclusively", blockdev.ErrBusy, heldExclusively},

		{"unmounted file system", blockdev.ErrSignature, func(s *scratch) error { return s.mkfs(s.dev) }},
		{"swap that is off", blockdev.ErrSignature, func(s *scratch) error { return s.mkswap(s.dev) }},
		{"GPT", blockdev.ErrSignature, func(s *scratch) error { return s.write(int64(s.block), "EFI PART") }},
		{"GPT, the copy at the end", blockdev.ErrSignature, func(s *scratch) error { return s.write(s.size-int64(s.block), "EFI PART") }},
		{"MBR", blockdev.ErrSignature, func(s *scratch) error { return s.write(510, "\x55\xaa") }},
		{"LVM", blockdev.ErrSignature, func(s *scratch) error { return s.write(512, "LABELONE") }},
		{"md, metadata at the end", blockdev.ErrSignature, func(s *scratch) error { return s.write((s.size-8192)&^4095, "\xfc\x4e\x2b\xa9") }},
		{"LUKS", blockdev.ErrSignature, func(s *scratch) error { return s.write(0, "LUKS\xba\xbe") }},
		{"first byte", blockdev.ErrNotEmpty, func(s *scratch) error { return s.write(0, "x") }},
		{"last byte of the first MiB", blockdev.ErrNotEmpty, func(s *scratch) error { return s.write(1<<20-1, "x") }},
		{"first byte of the last MiB", blockdev.ErrNotEmpty, func(s *scratch) error { return s.write(s.size-1<<20, "x") }},
		{"last byte", blockdev.ErrNotEmpty, func(s *scratch) error { return s.write(s.size-1, "x") }},
	}
}

func regularFile(s *scratch) error {
	dir, err := s.folder()
	if err != nil {
		return err
	}
	s.path = filepath.Join(dir, "file")
	return os.WriteFile(s.path, make([]byte, 1<<20), 0o600)
}

// consent changes the right phrase.
func consent(change func(string) string) func(s *scratch) error {
	return func(s *scratch) error { s.consent = change; return nil }
}

func linked(s *scratch) error {
	dir, err := s.folder()
	if err != nil {
		return err
	}
	first := filepath.Join(dir, "first")
	s.path = filepath.Join(dir, "second")
	if err := os.Symlink(s.dev, first); err != nil {
		return err
	}
	if err := os.Symlink(first, s.path); err != nil {
		return err
	}
	return s.mount(s.dev)
}

// renamed makes a node of its own with the device's number: names mean nothing.
func renamed(s *scratch) error {
	var st unix.Stat_t
	if err := unix.Stat(s.dev, &st); err != nil {
		return err
	}
	// Beside the device, since other folders may forbid devices.
	s.path = s.dev + "-guardtest-" + strconv.Itoa(os.Getpid())
	if err := unix.Mknod(s.path, unix.S_IFBLK|0o600, int(st.Rdev)); err != nil {
		return fmt.Errorf("make node %s: %w", s.path, err)
	}
	s.later(func() error { return os.Remove(s.path) })
	return s.mount(s.dev)
}

func onPartition(use func(s *scratch, dev string) error) func(s *scratch) error {
	return func(s *scratch) error {
		p, err := s.partition()
		if err != nil {
			return err
		}
		return use(s, p)
	}
}

func heldExclusively(s *scratch) error {
	f, err := os.OpenFile(s.dev, os.O_RDONLY|unix.O_EXCL, 0)
	if err != nil {
		return err
	}
	s.later(f.Close)
	return nil
}

func readOnly(s *scratch) error {
	set := func(on int) error {
		return s.with(func(f *os.File) error { return unix.IoctlSetPointerInt(int(f.Fd()), unix.BLKROSET, on) })
	}
	s.later(func() error { return set(0) })
	return set(1)
}
