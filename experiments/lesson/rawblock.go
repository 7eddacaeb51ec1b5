package lesson

import "latlab.example/common/lab"

const putMany = "rawblock/putmany"

var rawblock = Lesson{
	Case:    "rawblock",
	Title:   "a hundred small objects go to a raw device, one write after the other",
	Minutes: 15,
	Steps: []Step{
		{
			Text: `A store keeps each object in a slot of a raw device. PutMany writes 100 objects of 4 KiB. As it is, it writes a header and a payload for each, and waits for every write before it begins the next. The device answers in 200 us, whatever is asked of it.

200 writes of 200 us are 40 ms. The rest of what you will see is the CPU's, and how late a thread wakes up.`,
			Ask:  "Now all 200 writes are handed over in one submission, and the device can serve 32 at once. What becomes of the time?",
			Run:  Run{Experiment: putMany, Rig: "model", Base: "latency=200us/channels=32", Change: "strategy=batch"},
			Then: `200 writes in groups of 32 are seven waits in place of 200. One submission also means one waking up. That is the published result: one submission beats N writes.`,
		},
		{
			Text: `The same store, the same submission of 200 writes. But this device serves one request at a time: a single disk arm, a file in a network drive with a depth of one, a container's I/O limit.`,
			Ask:  "What becomes of the time now, against writing one after the other?",
			Run:  Run{Experiment: putMany, Rig: "model", Base: "latency=200us/channels=1", Change: "strategy=batch"},
			Then: `Nothing. The queue is a hundred deep all the time, which looks like a busy and happy device, and each request waits for all those before it. A deep queue alone says nothing about parallel work: look at it beside the time.`,
		},
		{
			Text: `So on this device only the number of requests counts. Header and payload of an object lie next to each other, in separate blocks. Another layout puts the header in front of the payload, so that one write takes both.`,
			Ask:  "Sequential writes, one channel, the other layout. What becomes of the time?",
			Run:  Run{Experiment: putMany, Rig: "model", Base: "latency=200us/channels=1", Change: "layout=aligned"},
			Then: `Half, since there are half as many requests. One toggle did nothing here and much there; the other the opposite. Which one to flip depends on the device: measure its channels first (latlab calibrate rawblock).`,
		},
		{
			Text: `Back to the device with 32 channels and 200 us. Some would rather start a task an object and let each write for itself, than change the store's code for one big submission.`,
			Ask:  "A task an object, in place of one submission of all. What becomes of the time, with the submission as the baseline?",
			Run:  Run{Experiment: putMany, Rig: "model", Base: "latency=200us/channels=32/strategy=batch", Change: "strategy=fan-out"},
			Then: `Starting a task costs about 60 us in the study's language, one after the other: 100 of them are 6 ms, more than the device takes. In Go a goroutine costs a hundredth of it, and this gap is another: run the same on rig channels or file and see.`,
		},
	},
	Exercises: []Exercise{
		{
			Name: "one-channel", Minutes: 5,
			Text: `Writes take 200 us, and the device serves one request at a time. PutMany of 100 objects takes 57 ms. Make it take at least 40 % less. You may flip ONE of: strategy, layout, placement, engine.`,

			Experiment: putMany, Rig: "model", Given: "latency=200us/channels=1",
			Toggles: []string{"strategy", "layout", "placement", "engine"}, Most: 1, Gain: 0.40,
			Obvious: "strategy=batch",
			Why:     "One submission hands over all writes at once. This device takes them one by one all the same.",
		},
		{
			Name: "fast-device", Minutes: 5,
			Text: `A faster device: 50 us, 32 channels. One submission is in place, with split headers and payloads. Get at least 20 % more out of it by flipping ONE of: strategy, layout, placement, engine.`,

			Experiment: putMany, Rig: "model", Given: "latency=50us/channels=32/strategy=batch",
			Toggles: []string{"strategy", "layout", "placement", "engine"}, Most: 1, Gain: 0.20,
			Obvious: "strategy=fan-out",
			Why:     "More tasks don't make a device faster that one submission already fills; starting them takes longer than their writes.",
		},
	},
}

// All are the lessons, in the order of the cases.
var All = []Lesson{aerospike, coldfetch, rawblock, spatial}

var requestRate = lab.Unit{Name: "requests/s", Better: lab.Up}
