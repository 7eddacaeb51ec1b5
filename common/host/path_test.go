package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestPathInfo(t *testing.T) {
	dir := t.TempDir()
	p, err := PathInfo(dir)
	if runtime.GOOS != "linux" {
		if !errors.Is(err, errors.ErrUnsupported) || p.FS != Unknown || p.Dev != Unknown {
			t.Errorf("got %v, %v, want an error for %s", p, err, runtime.GOOS)
		}
		return
	}
	if err != nil || p.FS == "" || p.Dev == "" || p.Path == "" {
		t.Errorf("got %+v, %v", p, err)
	}
	if (p.Dev == Unknown) != (p.Logical == 0) {
		t.Errorf("device %s, but blocks of %d", p.Dev, p.Logical)
	}
	if _, err := PathInfo(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing path: error %v, want %v", err, fs.ErrNotExist)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if q, err := PathInfo(filepath.Join(dir, "link")); err != nil || q != p {
		t.Errorf("through a link: %v, %v, want %v", q, err, p)
	}
}

func TestMountOf(t *testing.T) {
	all := mounts(newTree(t, map[string]string{"proc/self/mountinfo": `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
28 27 0:21 / /data rw shared:1 master:2 - tmpfs tmpfs rw
29 28 8:1 / /data/with\040blank rw - xfs /dev/sda1 rw
30 27 0:22 / /data rw - overlay overlay rw,lowerdir=/a
31 27 0:23 / /odd\q rw - fuse.x x rw
`}))
	for name, want := range map[string]string{
		"/": "ext4", "/etc/hosts": "ext4", "/database": "ext4", "/data": "overlay", "/data/x": "overlay",
		"/data/with blank/x": "xfs", `/odd\q`: "fuse.x",
	} {
		if m, ok := mountOf(all, name); !ok || m.fs != want {
			t.Errorf("%s is on %q, want %q", name, m.fs, want)
		}
	}
	if m, ok := mountOf(nil, "/"); ok {
		t.Errorf("without mounts: %+v", m)
	}
}

func TestScheduler(t *testing.T) {
	for text, want := range map[string]string{"none [mq-deadline] bfq": "mq-deadline", "[none]": "none", "none": "none", "": ""} {
		if got := scheduler(text); got != want {
			t.Errorf("%q chooses %q, want %q", text, got, want)
		}
	}
}

func TestInMemory(t *testing.T) {
	for _, test := range []struct {
		path Path
		want bool
	}{
		{Path{FS: "tmpfs"}, true},
		{Path{FS: "ramfs"}, true},
		{Path{FS: "devtmpfs"}, true},
		{Path{FS: "ext4", Disk: "vda"}, false},
		{Path{FS: Unknown, Disk: Unknown}, false},
		{Path{FS: "ext4", Disk: "loop0", Backing: "/data/image", BackingFS: "ext4"}, false},
		{Path{FS: "ext4", Disk: "loop0", Backing: "/dev/shm/image", BackingFS: "tmpfs"}, true},
		{Path{FS: "ext4", Disk: "zram0"}, true},
		{Path{FS: "ext4", Disk: "ram1"}, true},
		{Path{FS: "ext4", Disk: "ramses"}, false},
	} {
		if got := test.path.InMemory(); got != test.want {
			t.Errorf("%+v in memory: %v, want %v", test.path, got, test.want)
		}
	}
}
