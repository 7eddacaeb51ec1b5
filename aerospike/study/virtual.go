package study

import (
	"context"
	"time"

	"latlab.example/aerospike/model"
	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
)

// Factors of the model of the study's service, which Go has no part in.
var (
	gilLock   = lab.NewFactor("lock", model.Held, model.Free)
	gilMode   = lab.NewFactor("mode", model.Gather, model.Single)
	gilClient = lab.NewFactor("client", model.Async, model.Official, model.OfficialThread)
	gilLayer  = lab.NewFactor("layer", model.C, model.B, model.A)
	gilUsers  = lab.NewFactor("users", 10, 1, 5)

	// The rule is about an experiment's first factor, against its first level.
	gilRival = lab.NewFactor("client", model.Official, model.Async, model.OfficialThread)

	// The study had 9 sets of 200 keys.
	sets  = lab.NewFactor("sets", 9, 3)
	batch = lab.NewFactor("batch", 200, 50)
)

// Outcomes of the model beside the time. All are exact for a seed, but users
// draw, so seeds differ.
var (
	median    = lab.Unit{Name: "p50-ns/op", Better: lab.Down}
	p95       = lab.Unit{Name: "p95-ns/op", Better: lab.Down}
	p99       = lab.Unit{Name: "p99-ns/op", Better: lab.Down}
	perSec    = lab.Unit{Name: "requests/s", Better: lab.Up}
	lockBusy  = lab.Unit{Name: "lock-busy-percent", Better: lab.Down}
	loopBusy  = lab.Unit{Name: "loop-busy-percent", Better: lab.Down}
	spawnWait = lab.Unit{Name: "spawn-blocking-ns/read", Better: lab.Down}
	resume    = lab.Unit{Name: "resume-ns/read", Better: lab.Down}
)

const gilNote = "an operation is a request of one of the users, who wait 50 ms between two; layer A is the client alone, B has the HTTP server, C inference too"

func onGIL(name, question string, cross []string, factors ...lab.Factor) lab.Experiment {
	return lab.Experiment{
		Name: name, Question: question, Note: gilNote, Factors: factors, Cross: cross,
		Outcomes: []lab.Unit{median, p95, p99, perSec, spawnWait, resume, lockBusy, loopBusy},
		Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
		Stages:   model.Stages,
		Rigs:     []lab.Rig{lab.Model("model", model.Assumptions, model.Study(), openGIL)},
	}
}

// The interpreter lock is modelled and nothing else, so these experiments have a
// virtual rig only.
var (
	// GIL takes the lock away.
	GIL = onGIL("aerospike/gil", "What does an interpreter lock cost a request, and which waits go with it?",
		[]string{"lock", "mode"}, gilLock, gilMode, gilClient, gilLayer, gilUsers, sets, batch)
	// GILGather is the study's first lever, on both kinds of interpreter.
	GILGather = onGIL("aerospike/gil-gather", "Does one read of all keys beat a read a set under an interpreter lock, and without it?",
		[]string{"mode", "lock"}, gilMode, gilLock, gilClient, gilLayer, gilUsers, sets, batch)
	// GILClients asks which gap between the clients closes with the lock, and which grows.
	GILClients = onGIL("aerospike/gil-client", "Which gap between the clients closes with the lock or with the layers around them, and which grows?",
		[]string{"client", "lock", "mode"}, gilRival, gilLock, gilMode, gilLayer, gilUsers, sets, batch)
)

// models are all that a browser can run: see browser_js.go.
var models = []lab.Experiment{GIL, GILGather, GILClients}

// gilWindow is the virtual time of a trial, after a warm-up: some 500 requests.
const gilWindow = 10 * time.Second

type gil struct {
	load   model.Load
	params param.Table
}

func openGIL(_ context.Context, a lab.Arm, t param.Table) (lab.Subject, error) {
	return gil{model.Load{
		Lock: gilLock.Of(a), Mode: gilMode.Of(a), Client: gilClient.Of(a), Layer: gilLayer.Of(a),
		Users: gilUsers.Of(a), Sets: sets.Of(a), Batch: batch.Of(a),
	}, t}, nil
}

// Trial runs the service for a window, or for as long as the plan says if that is
// longer. A number of operations isn't heeded: a closed loop of few requests
// hasn't settled.
func (g gil) Trial(ctx context.Context, t *lab.Trial) error {
	f, err := model.Run(ctx, g.load, g.params, t.Seed, max(t.Min, gilWindow), t.Timeline)
	if err != nil {
		return err
	}
	t.Ops, t.Took = int(f.Response.Count()), time.Duration(f.Response.Sum())
	t.Stages(f.Stages)
	t.Observe(median, float64(f.Response.Quantile(0.5)))
	t.Observe(p95, float64(f.Response.Quantile(0.95)))
	t.Observe(p99, float64(f.Response.Quantile(0.99)))
	t.Observe(perSec, f.PerSec())
	t.Observe(spawnWait, 1e6*f.StageMean("spawn_blocking_delay"))
	t.Observe(resume, 1e6*f.StageMean("resume_delay"))
	t.Observe(lockBusy, 100*f.LockBusy)
	t.Observe(loopBusy, 100*f.LoopBusy)
	return nil
}

func (gil) Close() error { return nil }
