// Command guest is all that runs in the virtual machine of command vm: as the
// first process of the initial RAM disk it loads modules and changes to the root
// disk; from there it runs the checks, prints the verdict and powers off.
//
// It writes to /dev/nvme0n1 without asking, and refuses to run as anything but
// the first process of a machine that was booted for it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	verdict = "nvme-vm: "
	param   = "nvme_vm.block=" // on the kernel's command line
	second  = "second"         // the argument after the change to the root disk
	rootDev = "/dev/vda1"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: runs only as the first process of its virtual machine")
		os.Exit(2)
	}
	// The first process must not end: the kernel would panic. It powers off.
	var err error
	checks := 0
	if len(os.Args) > 1 && os.Args[1] == second {
		checks, err = runChecks()
	} else {
		err = early()
	}
	if err != nil {
		fmt.Printf("%sfailed: %s\n", verdict, strings.ReplaceAll(err.Error(), "\n", "; "))
	} else {
		fmt.Printf("%spassed %d checks\n", verdict, checks)
	}
	unix.Sync()
	time.Sleep(200 * time.Millisecond) // for the console to empty
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Printf("%sfailed: power off: %v\n", verdict, err)
	}
	select {}
}

// early loads the modules, and replaces the process by itself on the root disk.
func early() error {
	for _, m := range []struct{ kind, at string }{{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}} {
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	modules, err := filepath.Glob("/modules/*")
	if err != nil {
		return err
	}
	for _, file := range modules { // in order, by name
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := unix.InitModule(b, ""); err != nil {
			return fmt.Errorf("load %s: %w", file, err)
		}
	}
	if err := await(rootDev); err != nil {
		return err
	}
	if err := unix.Mount(rootDev, "/root", "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", rootDev, err)
	}
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		if err := unix.Mount(dir, "/root"+dir, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move %s: %w", dir, err)
		}
	}
	if err := errors.Join(unix.Chdir("/root"), unix.Mount(".", "/", "", unix.MS_MOVE, ""), unix.Chroot("."), unix.Chdir("/")); err != nil {
		return fmt.Errorf("change to the root disk: %w", err)
	}
	const self = "/bin/guest"
	return fmt.Errorf("start %s: %w", self, unix.Exec(self, []string{self, second}, []string{"PATH=/bin", "TMPDIR=/tmp", "HOME=/"}))
}

// await waits until a device is there.
func await(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not appear", path)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
