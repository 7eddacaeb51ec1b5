package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const nvmeStat = "  2000  10  16000  300  5000 700 80000 9000  3  1500  9300 1 2 3 4 55 6\n"

// blockTree has a disk with a partition, and a loop device that shows little.
func blockTree(t *testing.T) tree {
	const disk = "sys/devices/pci0/nvme/nvme0n1/"
	root := newTree(t, map[string]string{
		"proc/self/mountinfo":                               "27 1 259:2 / / rw - ext4 /dev/root rw\n28 27 0:40 / /mem rw - tmpfs tmpfs rw\n29 27 0:41 / /over rw - overlay overlay rw\n",
		disk + "stat":                                       nvmeStat,
		disk + "queue/scheduler":                            "[none] mq-deadline\n",
		disk + "queue/logical_block_size":                   "512\n",
		disk + "queue/physical_block_size":                  "4096\n",
		disk + "queue/rotational":                           "0\n",
		disk + "nvme0n1p2/partition":                        "2\n",
		disk + "nvme0n1p2/stat":                             "1 2 3 4 5 6 7 8 9 10 11\n",
		"sys/devices/virtual/block/loop0/stat":              "1 2 3\n",
		"sys/devices/virtual/block/loop0/loop/backing_file": "/mem/image\n",
		"dev/nvme0n1p2":                                     "",
	})
	for link, to := range map[string]string{
		"sys/dev/block/259:0": disk, "sys/dev/block/259:2": disk + "nvme0n1p2", "sys/dev/block/7:0": "sys/devices/virtual/block/loop0",
		"sys/class/block/nvme0n1": disk, "sys/class/block/nvme0n1p2": disk + "nvme0n1p2", "sys/class/block/loop0": "sys/devices/virtual/block/loop0",
		"dev/disk/by-id/x": "dev/nvme0n1p2",
	} {
		if err := os.MkdirAll(filepath.Dir(root.path(link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(root.path(to), root.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFillPath(t *testing.T) {
	root := blockTree(t)
	for _, tt := range []struct {
		name, dev string
		isDevice  bool
		want      Path
	}{
		{"/home/x", "259:2", false, Path{"/home/x", "ext4", "259:2", "nvme0n1p2", "nvme0n1", "none", 512, 4096, "no", "", ""}},
		{"/dev/nvme0n1", "259:0", true, Path{"/dev/nvme0n1", "block device", "259:0", "nvme0n1", "nvme0n1", "none", 512, 4096, "no", "", ""}},
		{"/mem/x", "0:40", false, Path{"/mem/x", "tmpfs", Unknown, Unknown, Unknown, Unknown, 0, 0, Unknown, "", ""}},
		{"/over/x", "0:41", false, Path{"/over/x", "overlay", Unknown, Unknown, Unknown, Unknown, 0, 0, Unknown, "", ""}},
		{"/dev/loop0", "7:0", true, Path{"/dev/loop0", "block device", "7:0", "loop0", "loop0", Unknown, 0, 0, Unknown, "/mem/image", "tmpfs"}},
	} {
		got := unknownPath(tt.name)
		fillPath(root, &got, tt.dev, tt.isDevice)
		if got != tt.want {
			t.Errorf("got  %+v\nwant %+v", got, tt.want)
		}
	}
	got := unknownPath("/x")
	if fillPath(newTree(t, nil), &got, "8:0", false); got != unknownPath("/x") {
		t.Errorf("from nothing: %+v", got)
	}
}

func TestReadDiskFromFiles(t *testing.T) {
	root := blockTree(t)
	whole := DiskCounters{2000, 10, 16000, 5000, 700, 80000, 55, 1500, 9300}
	part := DiskCounters{1, 2, 3, 5, 6, 7, 0, 10, 11}
	for dev, want := range map[string]DiskCounters{
		"nvme0n1": whole, "259:0": whole, "nvme0n1p2": part, "259:2": part, "/dev/nvme0n1p2": part, "/dev/disk/by-id/x": part,
	} {
		if got, err := readDisk(root, dev); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", dev, got, err, want)
		}
	}
	for _, dev := range []string{"", "none", "1:1", "/dev/none", "loop0", "..", "a/b"} {
		if got, err := readDisk(root, dev); !errors.Is(err, ErrCounters) {
			t.Errorf("%q: %+v, error %v, want %v", dev, got, err, ErrCounters)
		}
	}
}

// The counters of the disk that the test writes to move, if it can be seen.
func TestReadDiskOfThisHost(t *testing.T) {
	p, err := PathInfo(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if p.Dev == Unknown {
		t.Skipf("no device under %s", p)
	}
	before, err := ReadDisk(p.Dev)
	if err != nil {
		t.Skip(err)
	}
	f, err := os.Create(filepath.Join(p.Path, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	after, err := ReadDisk(p.Dev)
	if err != nil {
		t.Fatal(err)
	}
	use, err := after.Sub(before, time.Second)
	if err != nil || use.Writes == 0 || use.WriteBytes < 1<<20 {
		t.Errorf("after a synced write of 1 MiB: %v, %v", use, err)
	}
}
