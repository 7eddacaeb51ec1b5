package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"latlab.example/rawblock"
	"latlab.example/rawblock/blockdev"
	"latlab.example/rawblock/blockdev/guardtest"
	"latlab.example/rawblock/uring"
)

const drive = "/dev/nvme0n1"

// runChecks runs everything and counts it. It stops at the first failure.
func runChecks() (n int, err error) {
	ctx := context.Background()
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return 0, err
	}
	_, after, ok := strings.Cut(string(line), param)
	block := strings.Fields(after + " ")
	if !ok || len(block) == 0 {
		return 0, fmt.Errorf("the kernel's command line names no block size: %q", line)
	}
	if err := await(drive); err != nil {
		return 0, err
	}
	serial := "latlab-" + block[0]
	for _, part := range []func() (int, error){
		func() (int, error) { return identity(ctx, block[0], serial) },
		func() (int, error) { return others(ctx) },
		func() (int, error) { return guards(ctx) },
		func() (int, error) { return commands(ctx, serial) },
		func() (int, error) { return smoke(ctx, serial) },
	} {
		done, err := part()
		n += done
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// ok prints a check that passed.
func ok(format string, args ...any) { fmt.Printf("ok  "+format+"\n", args...) }

// identity: the drive is what qemu was told to emulate.
func identity(ctx context.Context, block, serial string) (int, error) {
	p, err := blockdev.Inspect(ctx, drive, 0)
	if err != nil {
		return 0, err
	}
	if fmt.Sprint(p.Block) != block || p.Serial != serial || p.Phrase != serial || p.Model != "QEMU NVMe Ctrl" || len(p.Refusals) > 0 {
		return 0, fmt.Errorf("%s is %+v; want blocks of %s, serial %s and no refusal", drive, p, block, serial)
	}
	ok("%s: %s, serial %s, blocks of %d", drive, p.Model, p.Serial, p.Block)
	return 1, nil
}

// others: devices that no scratch drive can stand for. The right serial doesn't help.
func others(ctx context.Context) (int, error) {
	cases := []struct {
		path string
		want error
	}{
		{"/dev/vda", blockdev.ErrRoot},
		{"/dev/vda", blockdev.ErrPartitionInUse},
		{rootDev, blockdev.ErrRoot},
		{rootDev, blockdev.ErrMounted},
		{rootDev, blockdev.ErrPartition},
		{"/dev/nvme0", blockdev.ErrNotBlock},
		{"/dev/ng0n1", blockdev.ErrNotBlock},
	}
	for _, c := range cases {
		d, err := blockdev.Open(ctx, c.path, blockdev.Consent{Serial: "latlab-root"}, 0)
		if err == nil {
			return 0, errors.Join(fmt.Errorf("%s was opened", c.path), d.Close())
		}
		if !errors.Is(err, c.want) {
			return 0, fmt.Errorf("%s: want %q; got: %w", c.path, c.want.Error(), err)
		}
		ok("refused: %s: %v", c.path, c.want)
	}
	return len(cases), nil
}

// guards: each of them, on the drive. None may be left out here.
func guards(ctx context.Context) (int, error) {
	cases := guardtest.Cases()
	for _, c := range cases {
		if err := guardtest.Check(ctx, drive, c); err != nil {
			return 0, err
		}
		ok("refused: %s: %v", c.Name, c.Want)
	}
	return len(cases), nil
}

// patience is for a rawdisk that hangs. The machine as a whole is bounded outside.
const patience = 4 * time.Minute

// commands: rawdisk as a person would use it.
func commands(ctx context.Context, serial string) (int, error) {
	cases := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"plan", drive}, 0, "consent   " + serial + "\n"},
		{[]string{"plan", "/dev/vda"}, 1, blockdev.ErrRoot.Error()},
		{[]string{"run", drive}, 1, blockdev.ErrConsent.Error()},
		{[]string{"run", drive, "--confirm", "latlab-root"}, 1, blockdev.ErrConsent.Error()},
		{[]string{"run", drive, "--confirm", serial}, 0, "passed: "},
		{[]string{"plan", drive}, 0, "consent   " + serial + "\n"}, // the run left the drive as it was
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, c := range cases {
		fmt.Println("$ rawdisk", strings.Join(c.args, " "))
		var out bytes.Buffer
		command := exec.CommandContext(ctx, "/bin/rawdisk", c.args...)
		command.Stdout = io.MultiWriter(os.Stdout, &out)
		command.Stderr = command.Stdout
		command.Cancel = func() error { return command.Process.Signal(unix.SIGQUIT) } // shows where it hangs
		err := command.Run()
		code := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			return 0, err
		}
		if code != c.code || !strings.Contains(out.String(), c.want) {
			return 0, fmt.Errorf("rawdisk %s: exit code %d, want %d and %q", strings.Join(c.args, " "), code, c.code, c.want)
		}
	}
	return len(cases), nil
}

// smoke: 1000 keys in one submission, found again by Open, on the device that the
// environment names.
func smoke(ctx context.Context, serial string) (n int, err error) {
	if err := errors.Join(os.Setenv(blockdev.DeviceVariable, drive), os.Setenv(blockdev.ConsentVariable, serial)); err != nil {
		return 0, err
	}
	if err := blockdev.ProbeEnv(ctx); err != nil {
		return 0, err
	}
	keys, objects := make([]rawblock.Key, 1000), make([][]byte, 1000)
	for i := range keys {
		keys[i] = rawblock.KeyOf(fmt.Sprint(i))
		objects[i] = bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 2048)
	}
	ring := func() (rawblock.Device, error) {
		d, err := blockdev.FromEnv(ctx, 0)
		if err != nil {
			return nil, err
		}
		return uring.New(d, uring.Options{})
	}
	dev, err := ring()
	if err != nil {
		return 0, err
	}
	s, err := rawblock.New(dev, rawblock.Options{Strategy: rawblock.Batch, Durability: rawblock.Flushed})
	if err != nil {
		return 0, err
	}
	if _, err := s.PutMany(ctx, keys, objects); err != nil {
		return 0, errors.Join(err, s.Close())
	}
	if err := s.Close(); err != nil {
		return 0, err
	}
	if dev, err = ring(); err != nil { // the device is ours now, and not refused
		return 0, err
	}
	if s, err = rawblock.Open(ctx, dev, rawblock.Options{}); err != nil {
		return 0, err
	}
	got := make([][]byte, len(keys))
	for i, e := range s.GetMany(ctx, keys, got) {
		if e == nil && !bytes.Equal(got[i], objects[i]) {
			e = fmt.Errorf("key %d reads other bytes", i)
		}
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return 0, err
	}
	ok("1000 keys in one submission, found again")
	return 1, nil
}
