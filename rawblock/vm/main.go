// Command vm proves the way to a real device on a virtual machine: it boots a
// Debian kernel under qemu with an emulated NVMe drive, once with logical blocks
// of 512 bytes and once of 4096, and runs inside
//
//  1. every guard of package blockdev on /dev/nvme0n1, and those of the root disk
//     and the character devices: each must refuse what it is there for;
//  2. rawdisk: the plan, a run with the wrong serial, and the store's correctness
//     suite with both engines;
//  3. a smoke run of 1000 keys through LATLAB_NVME_DEV and LATLAB_NVME_CONFIRM.
//
// The processor is emulated in software, so nothing is timed. What the machine
// prints last decides; the emulator's exit code says nothing.
//
// Qemu, mke2fs and apt-get must be there (Debian: apt-get install qemu-system-x86
// e2fsprogs). The kernel and a static busybox are downloaded with apt-get, checked
// by it, unpacked into the cache and not installed; the second run needs no network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	cache := flag.String("cache", filepath.Join(".cache", "nvme-vm"), "folder for the kernel and busybox")
	blocks := flag.String("blocks", "512,4096", "logical block sizes of the drive, a boot each")
	limit := flag.Duration("limit", 5*time.Minute, "time for one boot, run and power-off")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *cache, strings.Split(*blocks, ","), *limit)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

func run(ctx context.Context, cache string, blocks []string, limit time.Duration) (err error) {
	if err := tools(); err != nil {
		return err
	}
	cache, err = filepath.Abs(cache)
	if err != nil {
		return err
	}
	k, err := fetch(ctx, cache)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "nvme-vm")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m := machine{dir: dir, kernel: k}
	if err := m.build(ctx); err != nil {
		return err
	}
	for _, text := range blocks {
		block, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("block size %q: %w", text, err)
		}
		if err := m.boot(ctx, block, limit); err != nil {
			return fmt.Errorf("blocks of %d: %w", block, err)
		}
	}
	fmt.Println("vm: passed with logical blocks of", strings.Join(blocks, " and "), "bytes; nothing was timed")
	return nil
}

// ErrMissing occurs when a program that must be installed isn't.
var ErrMissing = errors.New("not installed")

// tools says which programs are missing and what brings them.
func tools() error {
	var errs []error
	for program, pkg := range map[string]string{
		qemu: "qemu-system-x86", "mke2fs": "e2fsprogs", "apt-get": "apt, so a Debian or its like", "dpkg-deb": "dpkg",
	} {
		if _, err := exec.LookPath(program); err != nil {
			errs = append(errs, fmt.Errorf("%s is %w: package %s", program, ErrMissing, pkg))
		}
	}
	return errors.Join(errs...)
}

// output runs a program and returns what it prints, or an error with it.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	b, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(b)))
	}
	return string(b), nil
}
