package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const qemu = "qemu-system-x86_64"

// verdict starts the line by which a run is judged. The guest prints it too.
const verdict = "nvme-vm: "

// Sizes in bytes.
const (
	driveSize = 128 << 20
	rootSize  = 64 << 20
	rootStart = 1 << 20 // of the root disk's one partition
)

// machine is what boots.
type machine struct {
	dir    string
	kernel kernel
}

func (m machine) file(name string) string { return filepath.Join(m.dir, name) }

// build compiles the guest's programs and makes its initial RAM disk and its root
// disk.
func (m machine) build(ctx context.Context) error {
	static := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"}
	tree := m.file("root")
	for _, dir := range []string{"bin", "dev", "proc", "sys", "tmp"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			return err
		}
	}
	for name, pkg := range map[string]string{
		"guest": "latlab.example/rawblock/vm/guest", "rawdisk": "latlab.example/rawblock/cmd/rawdisk",
	} {
		if _, err := output(ctx, "", static, "go", "build", "-tags", "giouring", "-ldflags", "-checklinkname=0 -s -w",
			"-o", filepath.Join(tree, "bin", name), pkg); err != nil {
			return err
		}
	}
	busybox, err := os.ReadFile(m.kernel.busybox)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tree, "bin", "mke2fs"), busybox, 0o755); err != nil { // it goes by its name
		return err
	}
	return errors.Join(m.ramDisk(tree), m.rootDisk(ctx, tree))
}

func (m machine) ramDisk(tree string) error {
	guest, err := os.ReadFile(filepath.Join(tree, "bin", "guest"))
	if err != nil {
		return err
	}
	modules, err := inOrder(m.kernel.modules, wanted)
	if err != nil {
		return err
	}
	var a archive
	for _, dir := range []string{"dev", "proc", "sys", "root", "modules"} {
		a.add(dir, folder, nil)
	}
	a.add("init", program, guest)
	for i, file := range modules {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		a.add(fmt.Sprintf("modules/%02d-%s", i, filepath.Base(file)), plain, b)
	}
	return os.WriteFile(m.file("initrd"), a.done(), 0o600)
}

// rootDisk makes a disk with one partition, so that the guards meet a root file
// system on a partition.
func (m machine) rootDisk(ctx context.Context, tree string) error {
	table := make([]byte, 512) // UEFI specification 5.2.1
	entry := table[446:]
	entry[4] = 0x83 // Linux
	binary.LittleEndian.PutUint32(entry[8:], rootStart/512)
	binary.LittleEndian.PutUint32(entry[12:], (rootSize-rootStart)/512)
	table[510], table[511] = 0x55, 0xaa
	if err := errors.Join(os.WriteFile(m.file("root.img"), table, 0o600), os.Truncate(m.file("root.img"), rootSize)); err != nil {
		return err
	}
	_, err := output(ctx, "", nil, "mke2fs", "-q", "-F", "-t", "ext4", "-d", tree, "-E", fmt.Sprintf("offset=%d", rootStart),
		m.file("root.img"), fmt.Sprintf("%dk", (rootSize-rootStart)/1024))
	return err
}

// boot runs the machine once and judges by what it prints.
func (m machine) boot(ctx context.Context, block int, limit time.Duration) (err error) {
	drive := m.file(fmt.Sprintf("nvme-%d.img", block))
	if err := errors.Join(os.WriteFile(drive, nil, 0o600), os.Truncate(drive, driveSize)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(ctx, qemu, "-accel", "tcg", "-smp", "2", "-m", "512", "-nodefaults", "-no-reboot",
		"-display", "none", "-serial", "stdio", "-nic", "none",
		"-kernel", m.kernel.image, "-initrd", m.file("initrd"),
		"-append", fmt.Sprintf("console=ttyS0 quiet panic=-1 nvme_vm.block=%d", block),
		"-drive", "if=none,id=drive,format=raw,cache=unsafe,file="+drive,
		"-device", fmt.Sprintf("nvme,drive=drive,serial=latlab-%d,logical_block_size=%d,physical_block_size=%d", block, block, block),
		"-drive", "if=none,id=root,format=raw,cache=unsafe,snapshot=on,file="+m.file("root.img"),
		"-device", "virtio-blk-pci,drive=root,serial=latlab-root")
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	var noise strings.Builder
	c.Stderr = &noise
	if err := c.Start(); err != nil {
		return fmt.Errorf("%s: %w", qemu, err)
	}
	last := follow(out, os.Stdout)
	if err := c.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w: %s", qemu, err, strings.TrimSpace(noise.String()))
	}
	return judge(last, ctx.Err(), limit)
}

// follow copies the console to w and keeps the last verdict: the kernel may still
// say that it powers off.
func follow(console io.Reader, w io.Writer) (last string) {
	for lines := bufio.NewScanner(console); lines.Scan(); {
		line := strings.TrimRight(lines.Text(), "\r ")
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, verdict) {
			last = line
		}
		fmt.Fprintln(w, line)
	}
	return last
}

// Errors of a run.
var (
	// ErrFailed occurs when a check in the machine failed, or it died.
	ErrFailed = errors.New("the machine did not pass")
	// ErrTime occurs when the machine took too long.
	ErrTime = errors.New("the machine did not power off in time")
)

func judge(last string, stopped error, limit time.Duration) error {
	switch {
	case errors.Is(stopped, context.DeadlineExceeded):
		return fmt.Errorf("%w: after %v; give it longer with -limit", ErrTime, limit)
	case stopped != nil:
		return stopped
	case !strings.HasPrefix(last, verdict+"passed"):
		return fmt.Errorf("%w: %q", ErrFailed, last)
	}
	return nil
}
