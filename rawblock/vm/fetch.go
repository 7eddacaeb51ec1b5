package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// metapackage depends on Debian's newest kernel for virtual machines: small, with
// NVMe and ext4 built in.
const metapackage = "linux-image-cloud-amd64"

// kernel is what was unpacked.
type kernel struct {
	image   string // vmlinuz
	modules string // the folder with modules
	busybox string // for mke2fs, linked statically
}

// fetch finds the kernel and busybox in the cache, or downloads them.
func fetch(ctx context.Context, cache string) (kernel, error) {
	unpacked := filepath.Join(cache, "unpacked")
	if k, err := find(unpacked); err == nil {
		return k, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return kernel{}, err
	}
	dir, err := os.MkdirTemp(cache, "download")
	if err != nil {
		return kernel{}, err
	}
	k, err := download(ctx, dir, unpacked)
	return k, errors.Join(err, os.RemoveAll(dir))
}

// download fills dir and moves what was unpacked to its place when it is whole.
func download(ctx context.Context, dir, unpacked string) (kernel, error) {
	const hint = "run apt-get update and see that the network is there"
	list, err := output(ctx, "", nil, "apt-cache", "depends", metapackage)
	if err != nil {
		return kernel{}, fmt.Errorf("%w; %s", err, hint)
	}
	name := dependency(list)
	if name == "" {
		return kernel{}, fmt.Errorf("package %s depends on no kernel; %s", metapackage, hint)
	}
	fmt.Printf("downloading %s and busybox-static\n", name)
	// The download folder belongs to the caller, whom apt's own user can't read.
	if _, err := output(ctx, dir, nil, "apt-get", "-o", "APT::Sandbox::User=root", "download", name, "busybox-static"); err != nil {
		return kernel{}, fmt.Errorf("%w; %s", err, hint)
	}
	packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return kernel{}, err
	}
	files := filepath.Join(dir, "files")
	for _, p := range packages {
		if _, err := output(ctx, "", nil, "dpkg-deb", "-x", p, files); err != nil {
			return kernel{}, err
		}
	}
	if _, err := find(files); err != nil {
		return kernel{}, err
	}
	if err := errors.Join(os.RemoveAll(unpacked), os.Rename(files, unpacked)); err != nil {
		return kernel{}, err
	}
	return find(unpacked)
}

// dependency is the first kernel that apt-cache depends lists.
func dependency(list string) string {
	for line := range strings.Lines(list) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: "); ok && strings.HasPrefix(name, "linux-image-") {
			return name
		}
	}
	return ""
}

// find looks for the files under a folder that holds unpacked packages.
func find(dir string) (kernel, error) {
	images, err1 := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	modules, err2 := filepath.Glob(filepath.Join(dir, "lib", "modules", "*"))
	if err := errors.Join(err1, err2); err != nil {
		return kernel{}, err
	}
	if len(modules) == 0 { // since Debian 13
		var err error
		if modules, err = filepath.Glob(filepath.Join(dir, "usr", "lib", "modules", "*")); err != nil {
			return kernel{}, err
		}
	}
	for _, bin := range []string{"bin", "usr/bin"} {
		k := kernel{busybox: filepath.Join(dir, bin, "busybox")}
		if _, err := os.Stat(k.busybox); err == nil && len(images) == 1 && len(modules) == 1 {
			k.image, k.modules = images[0], modules[0]
			return k, nil
		}
	}
	return kernel{}, fmt.Errorf("%s holds %d kernels and %d folders of modules, one each expected, and busybox; remove it and run again", dir, len(images), len(modules))
}
