package lesson

const (
	gil       = "aerospike/gil"
	gilGather = "aerospike/gil-gather"
	gilClient = "aerospike/gil-client"
)

var aerospike = Lesson{
	Case:    "aerospike",
	Title:   "a read takes a millisecond, and the request 190",
	Minutes: 20,
	Steps: []Step{
		{
			Text: `A recommendation service reads nine sets of features, 200 keys each, and runs a small model on them. The store answers a read in about a millisecond. The request takes 190 ms. Ten users call, each with a pause of 50 ms.

All of it is one Python process: an event loop, a client with threads of its own, and an interpreter lock that lets one thread work at a time.`,
			Ask:  "Take the interpreter lock away, and change nothing else. What becomes of the time of a request?",
			Run:  Run{Experiment: gil, Rig: "model", Change: "lock=free"},
			Then: `More than half goes, though no line of the service changed, and nobody made the store faster. Compare the two lines of time: resume_delay, the time from "the read is done" until the caller runs, is waiting for a lock that others hold. It never was in the client, and never in the store.`,
		},
		{
			Text: `The lock is back. The service asks for its nine sets at the same time, one read each: nine futures, nine callbacks, nine times the lock.`,
			Ask:  "One read of all 1800 keys instead. What becomes of the time?",
			Run:  Run{Experiment: gilGather, Rig: "model", Change: "mode=single"},
			Then: `A third less: fewer hand-overs of the lock. "Ask for everything at the same time" is the right advice where waiting is the cost, and here it isn't: hand-overs are.`,
		},
		{
			Text: `Keep both in mind: nine reads against one is worth a third under the lock.`,
			Ask:  "And without the lock? One read in place of nine, lock free.",
			Run:  Run{Experiment: gilGather, Rig: "model", Base: "lock=free", Change: "mode=single"},
			Then: `Next to nothing is left of it. An optimisation that was real under one condition says nothing about the other; that is why an arm differs from its baseline in ONE toggle, and why --cross shows what two do together.`,
		},
		{
			Text: `There are two clients. The official one makes all its objects while it holds the lock. The other one keeps bytes until somebody asks.`,
			Ask:  "Under the lock: from the official client to the other one (async), nine reads. What becomes of the time?",
			Run:  Run{Experiment: gilClient, Rig: "model", Change: "client=async"},
			Then: `Look at which stages carry it, and then run latlab run aerospike/gil-client: with each layer around the client (A alone, B with a server, C with inference) the gap is another. A benchmark of the client alone would have promised something else.`,
		},
	},
	Exercises: []Exercise{
		{
			Name: "throughput", Minutes: 5,
			Text: `The lock stays: it is the language's. Ten users, inference and all. Get at least 20 % more requests a second by flipping ONE of: mode, client, users.`,

			Experiment: gilGather, Rig: "model", Given: "",
			Toggles: []string{"mode", "client", "users"}, Most: 1, Unit: requestRate, Gain: 0.20,
			Obvious: "client=executor",
			Why:     "More threads don't help where one lock lets one of them work at a time.",
		},
	},
}
