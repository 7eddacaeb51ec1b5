package coldfetch_test

import (
	"os"
	"testing"

	"latlab.example/coldfetch/study"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

func TestMain(m *testing.M) {
	lab.Main(study.Experiments...) // the services of benchmarks are children
	os.Exit(m.Run())
}

// BenchmarkModelledLoopBlocking shows who waits for whom: mode by cores.
func BenchmarkModelledLoopBlocking(b *testing.B) {
	labtest.Bench(b, study.LoopBlocking, lab.Modelled, lab.Selection{Cross: []string{"mode", "cores"}})
}

// BenchmarkModelledHerd has fifty callers of one cold document.
func BenchmarkModelledHerd(b *testing.B) {
	labtest.Bench(b, study.Herd, lab.Modelled, lab.Selection{Cross: []string{"single-flight", "mode"}})
}

// BenchmarkModelledStoreLatency has a store that is far away.
func BenchmarkModelledStoreLatency(b *testing.B) {
	labtest.Bench(b, study.StoreLatency, lab.Modelled, lab.Selection{Cross: []string{"mode", "store"}})
}

// BenchmarkModelledPlannedFixes runs the study's list.
func BenchmarkModelledPlannedFixes(b *testing.B) {
	labtest.Bench(b, study.PlannedFixes, lab.Modelled, lab.Selection{})
}

// BenchmarkModelledColdPull locates with each profile of the store, and on loopback.
func BenchmarkModelledColdPull(b *testing.B) {
	labtest.Bench(b, study.ColdPull, lab.Modelled, lab.Selection{Cross: []string{"document"}})
}

// BenchmarkModelledStages takes a miss, a hit and a cold document apart.
func BenchmarkModelledStages(b *testing.B) {
	labtest.Bench(b, study.StageShares, lab.Modelled, lab.Selection{Cross: []string{"path"}})
}

// BenchmarkModelledCores is the ladder, against a fake on loopback.
func BenchmarkModelledCores(b *testing.B) {
	labtest.Bench(b, study.Cores, lab.Modelled, lab.Selection{Cross: []string{"cores", "concurrency"}})
}

// BenchmarkModelledNeighbour puts a neighbour into the core set.
func BenchmarkModelledNeighbour(b *testing.B) {
	labtest.Bench(b, study.Neighbour, lab.Modelled, lab.Selection{Cross: []string{"neighbour", "cores"}})
}

// BenchmarkModelledQuotaOrPin gives the service one core in four ways.
func BenchmarkModelledQuotaOrPin(b *testing.B) {
	labtest.Bench(b, study.QuotaOrPin, lab.Modelled, lab.Selection{})
}
