package emu

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"
)

// BenchmarkWaiter reports what a wait of 50 us takes from several closed loops
// at once: medians over calibrations of 100 ms. Sleep is there to compare. A
// batch is 100 latencies that one wait serves.
func BenchmarkWaiter(b *testing.B) {
	const d = 50 * time.Microsecond
	for _, w := range []Waiter{Spin, Sleep} {
		for _, waiters := range []int{1, 10, 100, 1000} {
			b.Run(fmt.Sprintf("wait=%s/waiters=%d", w, waiters), func(b *testing.B) {
				calibrateLoop(b, waiters, func(ctx context.Context) error { return Wait(ctx, w, d) })
			})
		}
	}
	b.Run("wait=spin/batch=100", func(b *testing.B) {
		latency := Constant(d)
		calibrateLoop(b, 1, func(ctx context.Context) error {
			var last time.Duration
			for key := range uint64(100) {
				last = max(last, latency.Draw(key, 0))
			}
			return Wait(ctx, Spin, last)
		})
	})
}

// BenchmarkEchoBesideSpin reports a round trip over loopback beside waiters in
// the same process. If waiters kept all cores busy, it would take 10 ms.
func BenchmarkEchoBesideSpin(b *testing.B) {
	for _, waiters := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			conn := echo(b)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			for range waiters {
				go func() {
					for Wait(ctx, Spin, 50*time.Microsecond) == nil {
					}
				}()
			}
			calibrateLoop(b, 1, func(context.Context) error {
				buf := []byte{1}
				if _, err := conn.Write(buf); err != nil {
					return err
				}
				_, err := conn.Read(buf)
				return err
			})
		})
	}
}

// echo is a connection to a server that sends back each byte.
func echo(b *testing.B) net.Conn {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Skipf("no loopback: %v", err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for buf := make([]byte, 1); ; {
			if _, err := c.Read(buf); err != nil {
				return
			}
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return conn
}

func calibrateLoop(b *testing.B, waiters int, call func(context.Context) error) {
	var p50, p99 []time.Duration
	for b.Loop() {
		c, err := CalibrateFunc(b.Context(), 50*time.Microsecond, waiters, time.Hour, call)
		if err != nil {
			b.Fatal(err)
		}
		p50, p99 = append(p50, c.P50), append(p99, c.P99)
	}
	slices.Sort(p50)
	slices.Sort(p99)
	b.ReportMetric(0, "ns/op") // a calibration's, of no interest
	b.ReportMetric(float64(nearestRank(p50, 50))/1e3, "p50-us")
	b.ReportMetric(float64(nearestRank(p99, 50))/1e3, "p99-us")
}
