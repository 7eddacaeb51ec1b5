module latlab.example/common

go 1.26.0

require (
	github.com/prometheus/client_golang v1.25.0 // indirect
	github.com/shirou/gopsutil/v4 v4.26.10 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
