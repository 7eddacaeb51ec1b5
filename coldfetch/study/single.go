//go:build !js

package study

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/app"
	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/seed"
	"latlab.example/common/bubble"
	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
)

// target is the document of a level of located.
func target(level string) seed.Document {
	docs := seed.Documents()
	if level == large {
		return docs[0]
	}
	return docs[1]
}

// locate pulls a document again and again; unless it shall be a hit it is removed
// before.
func locate(ctx context.Context, t *lab.Trial, p *pull.Puller, key string, cold bool) error {
	rec := metrics.NewRecorder(pull.Stages, metrics.WithSwitch(true), metrics.WithTimelines(t.Timeline))
	path, _, err := p.Pull(ctx, key)
	if err != nil {
		return err
	}
	prepare := func(int) error {
		if cold {
			return os.Remove(path)
		}
		return nil
	}
	return t.Repeat(ctx, prepare, func(int) error {
		q, began := rec.Request(), time.Now()
		_, s, err := p.Pull(ctx, key)
		if err != nil {
			return err
		}
		for _, span := range s.Spans {
			q.Add(0, span.Stage, int64(span.From), int64(span.To))
		}
		q.FinishAt(0, int64(time.Since(began)))
		if s.Hit == cold {
			return errors.New("the document was pulled where it was there, or the other way round")
		}
		return nil
	})
}

// away locates in a bubble.
type away struct{ arm lab.Arm }

func openAway(_ context.Context, a lab.Arm) (lab.Subject, error) {
	if located.Of(a) == hit {
		return nil, &lab.Unavailable{Need: "wall-clock", Why: "a look at a local file takes no time in a bubble", Do: "run this arm on another rig"}
	}
	return away{a}, nil
}

func (away) Close() error { return nil }

func (s away) Trial(ctx context.Context, t *lab.Trial) error {
	bodies()
	return bubble.Run(ctx, func(ctx context.Context) (err error) {
		n := bubble.NewNet(bubble.Link{})
		server, err := newFake(profileOf(afar.Of(s.arm)), emu.Sleep, t.Seed)
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
		dir, err := os.MkdirTemp("", "latlab-coldfetch-")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		p, err := pull.New(pull.Options{Client: mc, Bucket: bucket, Dir: dir, Sync: pull.SyncToggle.Of(s.arm)})
		if err != nil {
			return err
		}
		return locate(ctx, t, p, target(located.Of(s.arm)).Key(), true)
	})
}

// disk locates on this host.
type disk struct {
	*depot
	arm    lab.Arm
	dir    string
	tr     *http.Transport
	puller *pull.Puller
}

func onDisk(depot func(context.Context) (*depot, error)) lab.Open {
	return func(ctx context.Context, a lab.Arm) (lab.Subject, error) {
		d, err := depot(ctx)
		if err != nil {
			return nil, err
		}
		s := &disk{depot: d, arm: a}
		mc, tr, err := app.Client(d.account, nil)
		if err == nil {
			s.tr = tr
			if s.dir, err = realDir(); err == nil {
				s.puller, err = pull.New(pull.Options{Client: mc, Bucket: d.bucket, Dir: s.dir, Sync: pull.SyncToggle.Of(a)})
			}
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
}

func (s *disk) Trial(ctx context.Context, t *lab.Trial) error {
	level := located.Of(s.arm)
	return locate(ctx, t, s.puller, s.prefix+target(level).Key(), level != hit)
}

func (s *disk) Close() error {
	if s.tr != nil {
		s.tr.CloseIdleConnections()
	}
	err := s.close()
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// single asks a service in this process for one document at a time.
type single struct {
	*depot
	arm   lab.Arm
	store *http.Transport
	users *http.Transport
	dir   string
	stack *app.Stack
	kept  lines
}

func oneByOne(depot func(context.Context) (*depot, error)) lab.Open {
	return func(ctx context.Context, a lab.Arm) (lab.Subject, error) {
		d, err := depot(ctx)
		if err != nil {
			return nil, err
		}
		s := &single{depot: d, arm: a, users: &http.Transport{}}
		if err := s.open(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
}

func (s *single) open() error {
	mc, tr, err := app.Client(s.account, nil)
	if err != nil {
		return err
	}
	s.store = tr
	if s.dir, err = realDir(); err != nil {
		return err
	}
	set := settingOf(s.arm)
	set.Cache = 0
	if answered.Of(s.arm) == "hit" {
		set.Cache = len(seed.Documents())
	}
	cfg := set.config()
	cfg.Client, cfg.Bucket, cfg.Prefix, cfg.Dir, cfg.Recorder = mc, s.bucket, s.prefix, s.dir, s.kept.recorder()
	s.stack, err = app.Start(cfg)
	return err
}

func (s *single) Trial(ctx context.Context, t *lab.Trial) error {
	doc, zip := target(document.Of(s.arm)), coldfetch.GzipToggle.Of(s.arm)
	url := s.stack.URL + app.Paths()[slices.IndexFunc(seed.Documents(), func(d seed.Document) bool { return d.Name == doc.Name })]
	c := client(s.users)
	if err := fetch(ctx, c, url, zip); err != nil { // warms the root, and the cache if there is one
		return err
	}
	path, _, err := s.stack.Puller.Pull(ctx, s.prefix+doc.Key())
	if err != nil {
		return err
	}
	s.stack.Quiet()
	s.kept.take()
	s.stack.Service.Recorder().Reset()
	err = t.Repeat(ctx, func(int) error {
		if answered.Of(s.arm) == "cold" {
			return os.Remove(path)
		}
		return nil
	}, func(int) error { return fetch(ctx, c, url, zip) })
	if err != nil {
		return err
	}
	s.stack.Quiet()
	var sum metrics.Breakdown
	for _, l := range s.kept.take() {
		tl := l.timeline().Timeline
		sum.Add(tl.Critical())
		t.Timeline(tl)
	}
	t.Stages(s.stack.Service.Recorder().Snapshot())
	for _, p := range []struct {
		unit  lab.Unit
		stage metrics.Stage
	}{{buildPart, coldfetch.BuildIt}, {jsonPart, coldfetch.JSON}, {locatePart, coldfetch.Locate}} {
		t.Observe(p.unit, 100*float64(sum.Stages[p.stage])/float64(max(sum.Total, 1)))
	}
	return nil
}

func (s *single) Close() (err error) {
	s.users.CloseIdleConnections()
	if s.stack != nil {
		err = s.stack.Close()
	}
	if s.store != nil {
		s.store.CloseIdleConnections()
	}
	err = errors.Join(err, s.close())
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
