//go:build !js

package study

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/app"
	"latlab.example/coldfetch/fake"
	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/seed"
	"latlab.example/coldfetch/store"
	"latlab.example/common/bubble"
	"latlab.example/common/emu"
	"latlab.example/common/lab"
)

// Costs of the bubble's processor. Build and JSON are the study's; the rest is
// assumed.
const (
	costLocate  = 300 * time.Microsecond // of a file that is there: published
	costBuild   = 802 * time.Millisecond // published
	costLean    = 80 * time.Millisecond  // a tenth: what the two profiles take on a host of two cores
	costJSON    = 20 * time.Millisecond  // published
	costGzip    = 3 * time.Millisecond   // assumed, for 140 KB
	costListing = 5 * time.Millisecond   // assumed, of each half
	costHealth  = 300 * time.Microsecond // published
)

// userLink is between users and proxy: assumed.
var userLink = bubble.Link{RTT: 20 * time.Millisecond, BytesPerSec: 2_500_000}

var bubbleAssumptions = []string{
	"a build costs 802 ms of one core, JSON 20 ms, a look at a local file 0.3 ms, the health endpoint 0.3 ms, as published; the lean build 80 ms, gzip 3 ms, each half of the listing 5 ms, as assumed",
	"the processor's cores are shared alike by all that compute, without a cost for switching; the proxy, the store and the network compute nothing, and files take no time",
	"users are 20 ms and 20 Mbit/s away from the proxy, and think for 1 to 50 ms; each draws his documents at random from six",
	"with mode offload-gil six threads share the lock, which passes in order of arrival every 5 ms",
}

// bodies are generated once, as the same documents are asked for again and again.
var bodies = sync.OnceValue(func() map[string][]byte {
	all := map[string][]byte{}
	for _, d := range seed.Documents() {
		all[d.Key()] = d.Bytes()
	}
	return all
})

const bucket = "latlab"

// fakeAccount is of a fake at that address.
func fakeAccount(addr string) store.Account {
	return store.Account{Endpoint: addr, AccessKey: fake.DefaultAccessKey, SecretKey: fake.DefaultSecretKey, Region: fake.DefaultRegion}
}

// newFake makes a store with the documents, which listens nowhere yet.
func newFake(p fake.Profile, w emu.Waiter, seed uint64) (*fake.Server, error) {
	s, err := fake.New(fake.Config{Buckets: []string{bucket}, Profile: p, Waiter: w, Seed: seed})
	if err != nil {
		return nil, err
	}
	for key, body := range bodies() {
		if err := s.Put(bucket, key, body); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// scene is what happens in a bubble.
type scene struct {
	setting
	profile fake.Profile
	cores   int
	charge  func(*bubble.CPU) *coldfetch.Charge
	load    func(t *lab.Trial) workload
	units   []lab.Unit
}

// published charges what the study published.
func published(cpu *bubble.CPU) *coldfetch.Charge {
	return &coldfetch.Charge{
		Use: cpu.Use, Locate: costLocate, Build: costBuild, Lean: costLean, JSON: costJSON, Gzip: costGzip,
		Manifest: costListing, Corpus: costListing, Health: costHealth,
	}
}

// free charges nothing.
func free(cpu *bubble.CPU) *coldfetch.Charge { return &coldfetch.Charge{Use: cpu.Use} }

// Trial runs the scene in a bubble of its own.
func (s scene) Trial(ctx context.Context, t *lab.Trial) error {
	bodies() // outside, where others may wait for it
	return bubble.Run(ctx, func(ctx context.Context) error { return s.run(ctx, t) })
}

// Close does nothing: each trial closes what it opened.
func (s scene) Close() error { return nil }

func (s scene) run(ctx context.Context, t *lab.Trial) (err error) {
	n := bubble.NewNet(bubble.Link{})
	n.SetLink("proxy:80", userLink)
	server, err := newFake(s.profile, emu.Sleep, t.Seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	l, err := n.Listen("store:9000")
	if err != nil {
		return err
	}
	server.Serve(l)
	mc, tr, err := app.Client(fakeAccount("store:9000"), n.DialContext)
	if err != nil {
		return err
	}
	defer tr.CloseIdleConnections()
	kept := &lines{}
	cfg := s.config()
	cfg.Client, cfg.Bucket, cfg.Sync, cfg.Recorder, cfg.Dial = mc, bucket, pull.SyncNone, kept.recorder(), n.DialContext
	cfg.Charge = s.charge(bubble.NewCPU(s.cores))
	cfg.Listen = func(part string) (net.Listener, error) { return n.Listen(part + ":80") }
	stack, err := app.Start(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	users := &http.Transport{DialContext: n.DialContext}
	defer users.CloseIdleConnections()
	c := client(users)
	if s.Warm {
		if err := warm(ctx, stack.Puller, ""); err != nil {
			return err
		}
	}
	before := server.Use().Gets
	w := s.load(t)
	w.gzip = s.Gzip
	got, err := drive(ctx, c, stack.URL, w)
	if err != nil {
		return err
	}
	o := observe(stack, kept)
	o.Gets = server.Use().Gets - before
	record(t, s.units, got, o)
	return nil
}

// crowdLoad is the ladder's: users who come within a second and draw from all
// documents, with health and listing asked beside. Times have a nanosecond's
// grain, so that two things seldom happen at one instant.
func crowdLoad(users int) func(*lab.Trial) workload {
	think, err := emu.Empirical(emu.Quantile{Percent: 0, Value: time.Millisecond}, emu.Quantile{Percent: 100, Value: 50 * time.Millisecond})
	if err != nil {
		panic(err) // the table above is one
	}
	return func(t *lab.Trial) workload {
		return workload{
			users: users, perUser: perUser(t.Plan, users), paths: app.Paths(), spread: 987_654_321 * time.Nanosecond, think: think,
			health: 10, list: 1, seed: t.Seed,
		}
	}
}

// perUser is how many requests each user makes in a trial.
func perUser(p lab.Plan, users int) int {
	if p.N > 0 {
		return (p.N + users - 1) / users
	}
	return rounds(users)
}

// inBubble is a rig of scenes.
func inBubble(name string, more []string, scene func(lab.Arm) scene, own ...lab.Factor) lab.Rig {
	assume := append(append([]string(nil), bubbleAssumptions...), more...)
	return lab.Bubble(name, assume, func(_ context.Context, a lab.Arm) (lab.Subject, error) { return scene(a), nil }).With(own...)
}
