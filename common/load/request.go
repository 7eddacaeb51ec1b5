package load

import (
	"context"
	"time"
)

// Request is what the function under load is told of the request it is to make.
type Request struct {
	// User is the number of the virtual user, from 0 on; 0 in open-loop load.
	User int
	// N is the number of the request, from 0 on: of this user's in a closed
	// loop, of all arrivals in an open one.
	N int
	// Intended is when the request was due. In a closed loop it starts then; in
	// an open one it may start later, which shows as lag.
	Intended time.Time
	// Seed is made of the run's seed, User and N and nothing else. A request
	// that draws its key or place from it is the same in each run with that
	// seed, in whatever order requests happen.
	Seed uint64
}

// Func makes one request and tells how it ended. Many goroutines call it at
// once. It must return soon after ctx is done, since a run waits for all
// requests.
type Func func(ctx context.Context, r Request) error

// Streams keep draws for different purposes apart.
const (
	streamArrivals = iota + 1
	streamRequests
	streamThink
)

// mix makes one number of several, each bit of which depends on all of theirs.
// It is the finaliser of SplitMix64 (Steele, Lea and Flood 2014), chained.
func mix(values ...uint64) uint64 {
	var x uint64
	for _, v := range values {
		x += v + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}
