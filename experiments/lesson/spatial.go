package lesson

const (
	rowLog   = "spatial/rowlog"
	poolSize = "spatial/pool-size"
)

var spatial = Lesson{
	Case:    "spatial",
	Title:   "the pool is at 100 %, and it is innocent",
	Minutes: 20,
	Steps: []Step{
		{
			Text: `A service looks up places round a point in PostGIS, about a hundred an answer. 150 users call it, with a pause between two calls. It has ten database connections. The gauge of the pool says 100 %, a hundred requests wait for a connection, and the mean response time is more than four seconds.

For each row of an answer it writes a line to a log, to one terminal, which takes 0.4 ms a line. It does so while it still holds the connection.`,
			Ask:  "The pool is full, so it gets half as many connections again: 15 in place of 10. What becomes of the mean response time?",
			Run:  Run{Experiment: rowLog, Rig: "model", Change: "pool=15"},
			Then: `Nothing. Look at where the time goes: before, nine tenths wait for a connection. After, a little less waits there, and that much more waits in the log. The wait moved. What is scarce is the terminal, which one writer uses at a time: a hundred lines of 0.4 ms are 40 ms a request, so 25 requests a second, whatever the pool is.`,
		},
		{
			Text: `Back to ten connections. Now the lines are written after the connection went back to the pool. The gauge will say 2 %.`,
			Ask:  "What becomes of the mean response time?",
			Run:  Run{Experiment: rowLog, Rig: "model", Change: "log-place=after"},
			Then: `Nothing again, and now the pool looks idle. A gauge says where requests stand and wait, and not why. The time of stages says more: log has all of it now.`,
		},
		{
			Text: `One more: a line a request in place of a line a row.`,
			Ask:  "What becomes of the mean response time?",
			Run:  Run{Experiment: rowLog, Rig: "model", Change: "rowlog=summary"},
			Then: `That was it. The study's advice is right: count, don't list; keep row detail for a level that can be switched on while the program runs.`,
		},
		{
			Text: `Is pool size never it? Take the log away. Each request now keeps its connection for 100 ms without using the CPU: a lock in the database, a remote call, a slow disk. The users think for 1.5 s.

There is a knee: ten connections, each for 100 ms, serve P (Z + S) / S = 10 x 1.6 / 0.1 = 160 users. 150 are just below it.`,
			Ask:  "60 more users: 210. What becomes of the mean response time?",
			Run:  Run{Experiment: poolSize, Rig: "model", Change: "users=210"},
			Then: `Two fifths more users, and several times the time: past the knee each further user waits for all the others. Here, and only here, more connections are the answer.`,
		},
		{
			Text: `The same 210 users past the knee.`,
			Ask:  "15 connections in place of 10. What becomes of the mean response time?",
			Run:  Run{Experiment: poolSize, Rig: "model", Base: "users=210", Change: "pool=15"},
			Then: `The same change of the same toggle that did nothing in the first step. What differs is what the connections are held for. The published step from 10 to 15 had 46 requests a second of 10 ms: half a connection in use. No queue of a pool explains it, and the ledger says so: latlab claims spatial.`,
		},
	},
	Exercises: []Exercise{
		{
			Name: "full-pool", Minutes: 5,
			Text: `150 users, ten connections, a line a row on one slow terminal. The gauge says that the pool is full. Make the mean response time at least 90 % less by flipping ONE of: pool, rowlog, log-place.`,

			Experiment: rowLog, Rig: "model", Given: "",
			Toggles: []string{"pool", "rowlog", "log-place"}, Most: 1, Gain: 0.90,
			Obvious: "pool=15",
			Why:     "More connections let more requests wait for the same terminal.",
		},
	},
}
