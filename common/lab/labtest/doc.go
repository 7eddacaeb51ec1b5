// Package labtest checks that an experiment keeps the contract of package lab,
// and runs experiments from `go test -bench`.
//
// A case calls Check once for each of its experiments:
//
//	func TestExperiments(t *testing.T) {
//		for _, e := range study.Experiments {
//			t.Run(e.Name, func(t *testing.T) { labtest.Check(t, e) })
//		}
//	}
//
// Nothing that Check does depends on how fast the host is.
package labtest
