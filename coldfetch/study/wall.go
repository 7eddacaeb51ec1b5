//go:build !js

package study

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"latlab.example/coldfetch/app"
	"latlab.example/coldfetch/fake"
	"latlab.example/coldfetch/seed"
	"latlab.example/coldfetch/store"
	"latlab.example/common/child"
	"latlab.example/common/emu"
	"latlab.example/common/host"
	"latlab.example/common/lab"
)

var emulatedAssumptions = []string{
	"the object store is a fake in the driver's process, in memory, on loopback: it shows which code ran, not how long a store takes",
	"the service and its proxy are one process, within the arm's limits; the driver is another, on the host's other cores if there are any",
	"a build is real work of a stated size, of Go and not of an interpreter: its ratio to JSON is another than the study's",
}

// noWaits is the calibration of a fake that adds no time.
func noWaits(context.Context, lab.Arm) (string, error) {
	return "the store's profile is loopback: no waits, so none can be late", nil
}

// depot is a store with the documents in it.
type depot struct {
	account store.Account
	bucket  string
	prefix  string
	gets    func() uint64 // asked so far, where the store tells
	close   func() error
}

func openFakeDepot(context.Context) (*depot, error) {
	s, err := newFake(fake.Profile{}, emu.Spin, 0)
	if err != nil {
		return nil, err
	}
	addr, err := s.Start("")
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &depot{account: fakeAccount(addr), bucket: bucket, gets: func() uint64 { return s.Use().Gets }, close: s.Close}, nil
}

// openRealDepot seeds a place of its own in the store that the environment names,
// or in a versitygw.
func openRealDepot(ctx context.Context) (*depot, error) {
	p, err := store.Open(ctx)
	if err != nil {
		return nil, err
	}
	d := &depot{account: p.Account, bucket: p.Bucket, prefix: p.Prefix, gets: func() uint64 { return 0 }, close: p.Close}
	mc, tr, err := app.Client(p.Account, nil)
	if err == nil {
		defer tr.CloseIdleConnections()
		put := seed.To(mc, p.Bucket)
		for key, body := range bodies() {
			if err = put(ctx, p.Prefix+key, body); err != nil {
				err = fmt.Errorf("seed %s: %w", key, err)
				break
			}
		}
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return d, nil
}

// wall is a subject whose service is a process of its own.
type wall struct {
	*depot
	setting
	limits    child.Limits
	neighbour int
	users     int
	units     []lab.Unit
}

// onWall opens a depot for an arm.
func onWall(depot func(context.Context) (*depot, error), units []lab.Unit, limits func(lab.Arm) child.Limits) lab.Open {
	return func(ctx context.Context, a lab.Arm) (lab.Subject, error) {
		d, err := depot(ctx)
		if err != nil {
			return nil, err
		}
		return &wall{depot: d, setting: settingOf(a), limits: limits(a), neighbour: neighbour.Of(a), users: concurrency.Of(a), units: units}, nil
	}
}

func (w *wall) Close() error { return w.close() }

// Trial starts the service, and a neighbour if the arm has one, drives it, and
// asks it what it saw.
func (w *wall) Trial(ctx context.Context, t *lab.Trial) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends children that an error left
	var at ready
	service, err := begin(ctx, serviceFunc, w.limits, order{w.setting, w.account, w.bucket, w.prefix}, &at)
	if err != nil {
		return unsupported(err)
	}
	defer service.Kill()
	if w.neighbour > 0 {
		var back int
		n, err := begin(ctx, neighbourFunc, child.Limits{CPUs: w.limits.CPUs}, w.neighbour, &back)
		if err != nil {
			return err
		}
		defer n.Kill()
	}
	if apart := others(w.limits.CPUs); len(apart) > 0 {
		restore, err := host.Pin(apart...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, restore()) }()
	} else if w.limits.Quota == 0 {
		t.Dirty("the driver shares the service's cores")
	}
	before, began := w.gets(), time.Now()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c := client(tr)
	work := workload{users: w.users, perUser: perUser(t.Plan, w.users), paths: app.Paths(), health: 20, list: 1, gzip: w.Gzip, seed: t.Seed}
	got, err := drive(ctx, c, at.URL, work)
	if err != nil {
		return err
	}
	took := time.Since(began)
	var o observed
	if err := errors.Join(service.write.Encode("what did you see?"), service.read.Decode(&o)); err != nil {
		return errors.Join(err, service.Wait())
	}
	tr.CloseIdleConnections()
	if err := service.end(); err != nil {
		return err
	}
	o.Gets, o.Wall, o.CPUPercent = w.gets()-before, true, 100*service.CPU().Seconds()/took.Seconds()
	record(t, w.units, got, o)
	return nil
}

// unsupported turns what this host can't limit into a row that isn't available.
func unsupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return &lab.Unavailable{Need: "cgroup", Why: err.Error(), Do: "run it on Linux, as a user who may make a cgroup"}
	}
	return err
}

// others are the processors that this process may use and the service doesn't. All
// are the service's if it has no list.
func others(service []int) (rest []int) {
	if len(service) == 0 {
		return nil
	}
	for _, cpu := range allowed() {
		taken := false
		for _, s := range service {
			taken = taken || s == cpu
		}
		if !taken {
			rest = append(rest, cpu)
		}
	}
	return rest
}

// realDir is a new folder for pulled files: where lab.RealDir says, since a
// temporary folder may be in memory, where fsync costs nothing.
func realDir() (string, error) {
	base, err := lab.RealDir()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(base, "coldfetch-")
}
