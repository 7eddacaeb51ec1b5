//go:build unix

package postgis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// owner is whom the cluster belongs to. The zero owner is the caller.
type owner struct {
	name     string
	uid, gid uint32
}

func newOwner() (o owner, err error) {
	if os.Geteuid() != 0 {
		return o, nil
	}
	u, err := user.Lookup(User)
	if err != nil {
		return o, fmt.Errorf("postgis: PostgreSQL refuses root, and there is no user %s: %w; install the system's package (%s)", User, err, Install)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return o, fmt.Errorf("postgis: user %s: %w", User, err)
	}
	return owner{name: User, uid: uint32(uid), gid: uint32(gid)}, nil
}

// take gives a folder to the owner and makes sure that it can get there.
func (o owner) take(dir string) error {
	if err := os.Chmod(dir, 0o700); err != nil || o.name == "" {
		return err
	}
	if err := os.Chown(dir, int(o.uid), int(o.gid)); err != nil {
		return err
	}
	cmd := o.command(context.Background(), "/bin/sh", "-c", `test -w "$1"`, "sh", dir)
	cmd.Dir = "/"
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("user %s can't enter it, as a folder above it is closed; choose one under /var/tmp", o.name)
	}
	return nil
}

// command is a program that runs as the owner.
func (o owner) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	if o.name != "" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: o.uid, Gid: o.gid}}
	}
	return cmd
}
