// Package peers compares the cost of a record in package metrics with that of
// other libraries. It is a module of its own, outside the workspace, so that
// nobody who uses metrics downloads them. Run it in its folder:
//
//	GOWORK=off go test -bench BenchmarkPeers -run '^$' .
package peers
