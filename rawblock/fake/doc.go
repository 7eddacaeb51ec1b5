// Package fake is the simulated-latency device of rawblock: memory that takes
// its time.
//
// When a request completes is decided by a Medium, a small model of what lies
// behind the device. The study says that its fake finished a batch after one
// latency (OneWait). Its figures fit a device that waits once a key, since
// headers went out apart (UnbatchedHeaders). Channels is a device that serves so
// many requests at once.
//
// All callers share one medium, so they wait for each other as they would at a
// device. Time comes from the rig's emu.Waiter.
package fake
