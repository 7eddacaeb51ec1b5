package lesson

import "latlab.example/common/lab"

const (
	loopBlocking = "coldfetch/loop-blocking"
	plannedFixes = "coldfetch/planned-fixes"
)

var healthP95 = lab.Unit{Name: "health-p95-ns", Better: lab.Down}

var coldfetch = Lesson{
	Case:    "coldfetch",
	Title:   "an endpoint that does nothing takes a minute",
	Minutes: 25,
	Steps: []Step{
		{
			Text: `A service makes documents ready for reading: it fetches one from an object store, builds something from it (0.8 s of CPU, unless it is cached), and sends it as JSON. One event loop runs all handlers, one after the other, on one core. A hundred users call.

A health endpoint does nothing at all. By the service's own clock it takes 0.4 ms. The proxy in front gives up after 60 s, and so do most health checks: the loop runs every handler that is ready before it comes to the next one.`,
			Ask:  "Handlers go to threads beside the loop; an interpreter lock still lets one thread work at a time. What becomes of the p95 of the health check?",
			Run:  Run{Experiment: loopBlocking, Rig: "model", Change: "mode=offload-gil", Unit: healthP95},
			Then: `From a minute to less than a tenth of a second: nobody waits behind a whole build now, only for a turn of the lock. Beware of the clock that said 0.4 ms all the time: it started when the handler did. Time from where the user stands.`,
		},
		{
			Text: `The same change. Now look at the documents.`,
			Ask:  "What becomes of the mean time of a document, loop against threads beside it?",
			Run:  Run{Experiment: loopBlocking, Rig: "model", Change: "mode=offload-gil"},
			Then: `Nothing: one core does the same work. Which of the two you call "the latency" decides if the change was worth it. Test an assumption for each metric that it is used for.`,
		},
		{
			Text: `The study pinned the service to one core, since production shares its cores with neighbours, and found that cores matter little for p95.`,
			Ask:  "Back to the loop: two cores in place of one. What becomes of the mean time of a document?",
			Run:  Run{Experiment: loopBlocking, Rig: "model", Change: "cores=2"},
			Then: `One loop and one lock use one core. The second one is there for others. That is the study's point, and also the limit of it.`,
		},
		{
			Text: `And without a lock? A goroutine a request, on one core and on two.`,
			Ask:  "Goroutines: two cores in place of one. What becomes of the mean time of a document?",
			Run:  Run{Experiment: loopBlocking, Rig: "model", Base: "mode=goroutines", Change: "cores=2"},
			Then: `Now the core counts. "Cores matter little" was true of one mode of execution, and nobody had written down which.`,
		},
		{
			Text: `The study ends with a list of next fixes: the handler off the loop, a larger cache, proxy buffers, gzip, a leaner build. Two thirds of the requests miss the cache, and a miss costs a build of 0.8 s; a hit costs 20 ms of JSON.`,
			Ask:  "One fix alone, the larger cache. What becomes of the mean time of a document?",
			Run:  Run{Experiment: plannedFixes, Rig: "model", Change: "fixes=cache"},
			Then: `The work that isn't done needs no core, no loop and no lock. The other fixes come out one by one with: latlab run coldfetch/planned-fixes --rig model.`,
		},
	},
	Exercises: []Exercise{
		{
			Name: "health", Minutes: 5,
			Text: `The health check waits for the loop: p95 is a minute, with a hundred users on one core. Make it at least 99 % less by flipping ONE of: mode, cores, cache, single-flight.`,

			Experiment: loopBlocking, Rig: "model", Given: "",
			Toggles: []string{"mode", "cores", "cache", "single-flight"}, Most: 1, Unit: healthP95, Gain: 0.99,
			Obvious: "cores=2",
			Why:     "One loop uses one core. Beside it stands an idle one.",
		},
	},
}
