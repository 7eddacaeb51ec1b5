package blockdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// machine is a folder with /sys and /proc of a host that has
//
//	nvme0n1 (259:0) with p1 (259:1) and p2 (259:2), on which dm-0 (253:0) lies
//	nvme1n1 (259:3), unused
//	sda (8:0), sdb (8:16), two paths to a disk with one serial
//	loop0 (7:0) on a file, loop1 (7:1) on nvme1n1
//
// and the uses that a test adds.
type machine struct {
	t *testing.T
	system
}

var numbers = map[string]string{
	"nvme0n1": "259:0", "nvme0n1p1": "259:1", "nvme0n1p2": "259:2", "nvme1n1": "259:3",
	"dm-0": "253:0", "sda": "8:0", "sdb": "8:16", "loop0": "7:0", "loop1": "7:1",
}

func newMachine(t *testing.T, loop1On string) machine {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("file names with colons, and links")
	}
	m := machine{t, system{root: t.TempDir()}}
	m.numberOf = func(path string) (Number, error) {
		text, ok := numbers[strings.TrimPrefix(path, "/dev/")]
		if !ok {
			return Number{}, fs.ErrNotExist
		}
		return parseNumber(text)
	}
	for name, number := range numbers {
		dir := "sys/devices/" + name
		if disk, part, ok := strings.Cut(name, "p"); ok && part != "" && strings.HasPrefix(name, "nvme") {
			dir = "sys/devices/" + disk + "/" + name
			m.file(dir+"/partition", part)
		} else {
			m.link("sys/block/"+name, dir)
		}
		m.file(dir+"/dev", number)
		m.file(dir+"/ro", "0")
		m.file(dir+"/size", "131072")
		m.link("sys/dev/block/"+number, dir)
		m.link("sys/class/block/"+name, dir)
	}
	m.file("sys/devices/nvme0n1/device/serial", "S1  \n")
	m.file("sys/devices/nvme0n1/device/model", "Fast One \n")
	m.file("sys/devices/sda/device/vpd_pg80", "\x00\x80\x00\x04 DUP")
	m.file("sys/devices/sdb/device/vpd_pg80", "\x00\x80\x00\x04 DUP")
	m.file("sys/devices/nvme0n1/nvme0n1p2/holders/dm-0", "")
	m.file("sys/devices/dm-0/slaves/nvme0n1p2", "")
	m.file("sys/devices/loop0/loop/backing_file", "/data/disk.img")
	if loop1On != "" {
		m.file("sys/devices/loop1/loop/backing_file", loop1On)
	}
	m.file("proc/self/mountinfo", "")
	m.file("proc/swaps", "Filename Type Size Used Priority")
	return m
}

func (m machine) file(name, text string) {
	m.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(m.path(name)), 0o700), os.WriteFile(m.path(name), []byte(text), 0o600)); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) link(name, to string) {
	m.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(m.path(name)), 0o700), os.Symlink(m.path(to), m.path(name))); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) device(name string) disk {
	m.t.Helper()
	n, err := parseNumber(numbers[name])
	if err != nil {
		m.t.Fatal(err)
	}
	d, err := m.disk(n)
	if err != nil || d.name != name {
		m.t.Fatalf("%s: %+v, %v", name, d, err)
	}
	return d
}

func mountLine(number, point, source string) string {
	return fmt.Sprintf("27 1 %s / %s rw,relatime shared:1 master:2 - some %s rw", number, point, source)
}

// What can't be shown on a loop device is shown on a folder: the root disk,
// holders, layers. Each case names all refusals, and no other may come.
func TestGuardsOnAFolder(t *testing.T) {
	rootOnMapper := mountLine("253:0", "/", "/dev/mapper/vg-root")
	for name, c := range map[string]struct {
		dev    string
		mounts []string
		swaps  []string
		loop1  string
		want   []error
	}{
		"unused":                          {dev: "nvme1n1"},
		"partitions held":                 {dev: "nvme0n1", want: []error{ErrPartitionInUse, ErrHeld}},
		"root disk":                       {dev: "nvme1n1", mounts: []string{mountLine("259:3", "/", "/dev/root")}, want: []error{ErrRoot, ErrMounted}},
		"root by source, no number":       {dev: "nvme1n1", mounts: []string{mountLine("0:31", "/", "/dev/nvme1n1")}, want: []error{ErrRoot, ErrMounted}},
		"root on a partition":             {dev: "nvme0n1", mounts: []string{mountLine("259:1", "/", "/dev/nvme0n1p1")}, want: []error{ErrRoot, ErrPartitionInUse, ErrMounted, ErrPartitionInUse, ErrHeld}},
		"root through a mapper":           {dev: "nvme0n1", mounts: []string{rootOnMapper}, want: []error{ErrRoot, ErrPartitionInUse, ErrHeld}},
		"another partition, root's disk":  {dev: "nvme0n1p1", mounts: []string{rootOnMapper}, want: []error{ErrPartition, ErrRoot}},
		"partition under root's mapper":   {dev: "nvme0n1p2", mounts: []string{rootOnMapper}, want: []error{ErrPartition, ErrRoot, ErrHeld}},
		"root's mapper":                   {dev: "dm-0", mounts: []string{rootOnMapper}, want: []error{ErrStacked, ErrRoot, ErrMounted}},
		"root elsewhere":                  {dev: "nvme1n1", mounts: []string{rootOnMapper, mountLine("0:6", "/dev", "devtmpfs")}},
		"root in memory":                  {dev: "nvme1n1", mounts: []string{mountLine("0:2", "/", "rootfs")}},
		"root on a loop on it":            {dev: "nvme1n1", loop1: "/dev/nvme1n1", mounts: []string{mountLine("7:1", "/", "/dev/loop1")}, want: []error{ErrRoot, ErrHeld}},
		"mounted":                         {dev: "nvme1n1", mounts: []string{mountLine("259:3", "/mnt/a\\040b", "/dev/else")}, want: []error{ErrMounted}},
		"mounted btrfs":                   {dev: "nvme1n1", mounts: []string{mountLine("0:40", "/mnt", "/dev/nvme1n1")}, want: []error{ErrMounted}},
		"source that only looks like it":  {dev: "nvme1n1", mounts: []string{mountLine("8:0", "/mnt", "/dev/nvme1n1")}},
		"swap":                            {dev: "nvme1n1", swaps: []string{"/dev/nvme1n1 partition 1 0 -2"}, want: []error{ErrSwap}},
		"swap partition":                  {dev: "nvme0n1", swaps: []string{"/dev/nvme0n1p1 partition 1 0 -2"}, want: []error{ErrPartitionInUse, ErrSwap, ErrPartitionInUse, ErrHeld}},
		"swap file":                       {dev: "nvme1n1", swaps: []string{"/swap file 1 0 -2"}},
		"swap that can't be found":        {dev: "nvme1n1", swaps: []string{"/dev/gone partition 1 0 -2"}, want: []error{ErrUnknown}},
		"held by a loop":                  {dev: "nvme1n1", loop1: "/dev/nvme1n1", want: []error{ErrHeld}},
		"loop on a file":                  {dev: "loop0"},
		"loop on a device":                {dev: "loop1", loop1: "/dev/nvme1n1", want: []error{ErrStacked}},
		"device mapper":                   {dev: "dm-0", want: []error{ErrStacked}},
		"mount table that makes no sense": {dev: "nvme1n1", mounts: []string{"nonsense"}, want: []error{ErrUnknown, ErrUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, c.loop1)
			m.file("proc/self/mountinfo", strings.Join(c.mounts, "\n"))
			m.file("proc/swaps", strings.Join(append([]string{"Filename Type Size Used Priority"}, c.swaps...), "\n"))
			got := m.guards(m.device(c.dev))
			wanted := 0
			for _, want := range c.want {
				if !errors.Is(refused(got), want) {
					t.Errorf("%v, want %v too", refused(got), want)
				}
				if want != ErrMounted && want != ErrSwap && want != ErrHeld || !slices.Contains(c.want, ErrPartitionInUse) {
					wanted++
				}
			}
			if len(got) != wanted {
				t.Errorf("%d refusals, want %d: %v", len(got), wanted, refused(got))
			}
		})
	}
}

// A guard that can't see refuses.
func TestWhatCantBeReadRefuses(t *testing.T) {
	for _, name := range []string{"proc/self/mountinfo", "sys/devices/nvme1n1/ro"} {
		m := newMachine(t, "")
		d := m.device("nvme1n1")
		if err := os.Remove(m.path(name)); err != nil {
			t.Fatal(err)
		}
		if errs := m.guards(d); len(errs) == 0 {
			t.Errorf("without %s: no refusal", name)
		}
	}
	m := newMachine(t, "")
	if _, err := m.disk(Number{1, 2}); !errors.Is(err, ErrUnknown) {
		t.Errorf("absent device: %v", err)
	}
	if err := os.Remove(m.path("proc/swaps")); err != nil {
		t.Fatal(err)
	}
	if errs := m.guards(m.device("nvme1n1")); len(errs) > 0 {
		t.Errorf("a kernel without swap: %v", errs)
	}
}

func TestSerials(t *testing.T) {
	m := newMachine(t, "")
	if d := m.device("nvme0n1"); d.serial() != "S1" || d.model() != "Fast One" {
		t.Errorf("serial %q, model %q", d.serial(), d.model())
	}
	if s := m.device("sda").serial(); s != "DUP" {
		t.Errorf("SCSI serial %q", s)
	}
	if s := m.device("loop0").serial(); s != "" {
		t.Errorf("loop serial %q", s)
	}
	for serial, want := range map[string]int{"S1": 1, "DUP": 2, "else": 0} {
		if n, err := m.serials(serial); err != nil || n != want {
			t.Errorf("%q: %d disks (%v), want %d", serial, n, err, want)
		}
	}
	m.file("sys/devices/sdb/hidden", "1")
	if n, err := m.serials("DUP"); err != nil || n != 1 {
		t.Errorf("%d disks (%v), want 1: the other path is hidden", n, err)
	}
}

func FuzzMounts(f *testing.F) {
	f.Add(mountLine("259:1", "/mnt/a\\040b", "/dev/nvme0n1p1") + "\n" + mountLine("0:2", "/", "none"))
	f.Add("27 1 254:0 / / rw - ext4")
	f.Fuzz(func(t *testing.T, table string) {
		all, err := parseMounts(table)
		if err == nil && len(all) != len(strings.Split(strings.TrimSuffix(table, "\n"), "\n")) && table != "" {
			t.Errorf("%d mounts of %q: a line was passed over", len(all), table)
		}
	})
}
