//go:build !js

package study

import (
	"context"
	_ "embed" // production.facts
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"latlab.example/coldfetch/store"
	"latlab.example/common/child"
	"latlab.example/common/fidelity"
	"latlab.example/common/host"
	"latlab.example/common/lab"
)

// FactsVariable names a file with the facts of one's own production, in the form
// of fidelity.Parse, in place of the study's.
const FactsVariable = "LATLAB_COLDFETCH_FACTS"

//go:embed production.facts
var productionFacts string

// Production are the facts declared of production: the study's, or those of the
// file that FactsVariable names.
func Production() (fidelity.Facts, error) {
	text := productionFacts
	if name := os.Getenv(FactsVariable); name != "" {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", FactsVariable, err)
		}
		text = string(b)
	}
	return fidelity.Parse(text)
}

// Fidelity holds an arm on a rig beside production. It reads facts of this host
// and, on the real rig, asks the store that LATLAB_S3 names for its round trip.
func Fidelity(ctx context.Context, e lab.Experiment, r lab.Rig, a lab.Arm) (fidelity.Table, error) {
	declared, err := Production()
	if err != nil {
		return nil, err
	}
	here, err := factsOf(ctx, e, r, a)
	if err != nil {
		return nil, err
	}
	return fidelity.Compare(declared, here), nil
}

func factsOf(ctx context.Context, e lab.Experiment, r lab.Rig, a lab.Arm) (fidelity.Facts, error) {
	s := settingOf(a)
	run := fidelity.Facts{
		{Name: "fsync", Value: string(s.Sync)},
		{Name: "proxy", Value: "in front", Why: "net/http/httputil, in the service's process"},
		{Name: "proxy buffer", Value: strconv.Itoa(s.Buffer) + " bytes"},
		{Name: "compression", Value: map[bool]string{true: "gzip", false: "none"}[s.Gzip]},
		{Name: "handlers", Value: string(s.Mode)},
		{Name: "cache", Value: strconv.Itoa(s.Cache) + " documents"},
		{Name: "root", Value: map[bool]string{true: "warm", false: "cold"}[s.Warm]},
		{Name: "neighbours", Value: neighbours(a)},
	}
	switch e.Name { // those without the whole stack
	case ColdPull.Name:
		run = run[:1]
	case StageShares.Name:
		run = run.With(fidelity.Fact{Name: "cache", Value: "by path: " + answered.Of(a)})
	}
	if r.Kind() == lab.KindBubble {
		n := cores.Of(a)
		if e.Name == LoopBlocking.Name || e.Name == PlannedFixes.Name {
			n = oneCore.Of(a)
		}
		name := storeLevel(e, a)
		return run.With(
			fidelity.Fact{Name: fidelity.Cores, Value: strconv.Itoa(n), Why: "of the bubble's processor, shared alike"},
			fidelity.Fact{Name: "store", Value: "fake in memory"},
			fidelity.Fact{Name: "store rtt", Value: firstByte(name), Why: "assumed by profile " + name},
			fidelity.Fact{Name: "fsync", Value: "none", Why: "files take no time in a bubble"},
			fidelity.Fact{Name: fidelity.FileSystem, Value: "takes no time"},
			fidelity.Fact{Name: fidelity.GOMAXPROCS, Value: "no meaning in virtual time"},
			fidelity.Fact{Name: fidelity.CPUShare, Value: "no meaning in virtual time"},
		), nil
	}
	dir, err := lab.RealDir()
	if err != nil {
		return nil, err
	}
	h, err := host.Read(ctx, dir)
	if err != nil {
		return nil, err
	}
	facts := fidelity.Host(h).With(run...)
	if l, ok := limitsOf(e, a); ok {
		facts = facts.With(limited(l, facts)...)
	}
	return facts.With(storeFacts(ctx, r)...), nil
}

func neighbours(a lab.Arm) string {
	if n := neighbour.Of(a); n > 0 {
		return fmt.Sprintf("one, of %d%% of a core", n)
	}
	return "none"
}

// storeLevel is the profile of the arm's fake in a bubble.
func storeLevel(e lab.Experiment, a lab.Arm) string {
	if e.Name == LoopBlocking.Name {
		return "loopback"
	}
	if e.Name == PlannedFixes.Name {
		return storeProfile.Of(a)
	}
	return far.Of(a)
}

func firstByte(profile string) string {
	p := profileOf(profile)
	if p.FirstByte == nil {
		return "0s"
	}
	return p.FirstByte.String()
}

// limitsOf are those of the arm's service, if it is a process of its own.
func limitsOf(e lab.Experiment, a lab.Arm) (child.Limits, bool) {
	switch e.Name {
	case Cores.Name, Neighbour.Name, LoopBlocking.Name:
		return ladderLimits(a), true
	case QuotaOrPin.Name:
		return byShare(a), true
	}
	return child.Limits{}, false
}

// limited are the facts of a process within limits on a host with these facts.
func limited(l child.Limits, of fidelity.Facts) []fidelity.Fact {
	all, _ := of.Get(fidelity.Cores)
	how, _ := of.Get(fidelity.CPUShare)
	n, err := strconv.Atoi(all.Value)
	if err != nil {
		n = 1
	}
	procs := n
	if len(l.CPUs) > 0 {
		if len(l.CPUs) < n {
			how.Value = "pinned"
		}
		n = len(l.CPUs)
		procs = n
	}
	if l.Quota > 0 {
		how.Value = fmt.Sprintf("quota %g", l.Quota)
		procs = min(procs, max(2, int(l.Quota+0.999))) // Go rounds up, to 2 at least
	}
	if l.MaxProcs > 0 {
		procs = l.MaxProcs
	}
	return []fidelity.Fact{
		{Name: fidelity.Cores, Value: strconv.Itoa(n), Why: "that the service's process may run on"},
		how,
		{Name: fidelity.GOMAXPROCS, Value: strconv.Itoa(procs), Why: "with a quota of one core Go still takes 2"},
	}
}

// storeFacts are where the store is, and how far.
func storeFacts(ctx context.Context, r lab.Rig) []fidelity.Fact {
	if r.Kind() != lab.KindReal {
		return []fidelity.Fact{{Name: "store", Value: "fake on loopback"}, {Name: "store rtt", Value: "0s", Why: "the fake adds none"}}
	}
	a, named, err := store.FromEnv()
	if err != nil || !named {
		return []fidelity.Fact{{Name: "store", Value: "versitygw " + store.Version + " on loopback"}, {Name: "store rtt", Value: "loopback's", Why: "a process on this host"}}
	}
	where := a.Endpoint
	if host, _, err := net.SplitHostPort(a.Endpoint); err == nil {
		if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() || ip == nil && !strings.EqualFold(host, "localhost") {
			where = "remote"
		}
	}
	return []fidelity.Fact{
		{Name: "store", Value: where, Why: store.EndpointVariable},
		{Name: "store rtt", Value: dialTime(ctx, a.Endpoint), Why: "median of five TCP connects"},
	}
}

// dialTime is how long a connection takes to be made: a round trip. It is empty if
// there is none.
func dialTime(ctx context.Context, addr string) string {
	var all []time.Duration
	for range 5 {
		began := time.Now()
		c, err := (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return ""
		}
		all = append(all, time.Since(began))
		_ = c.Close() // nothing was sent
	}
	slices.Sort(all)
	return all[2].Round(time.Microsecond).String()
}
