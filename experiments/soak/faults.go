package soak

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"latlab.example/common/emu"
)

// schedule draws up to most rules, in the notation of emu.ParseFaults, from what
// can go wrong: "operation:kind" each. A quarter of the schedules have no fault.
func schedule(r *rand.Rand, most int, can ...string) (*emu.Schedule, string, error) {
	var rules []string
	if r.IntN(4) > 0 {
		for range 1 + r.IntN(most) {
			when := fmt.Sprint(1 + r.IntN(30))
			switch r.IntN(3) {
			case 0:
				when = fmt.Sprintf("every(%d)", 5+r.IntN(40))
			case 1:
				when = fmt.Sprintf("p(%.3f,seed=%d)", 0.005+0.1*r.Float64(), r.IntN(1000))
			}
			rules = append(rules, pick(r, can)+"@"+when)
		}
	}
	text := strings.Join(rules, "; ")
	s, err := emu.ParseFaults(text)
	return s, text, err
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// has says whether a schedule has a fault of that operation and kind.
func has(text, rule string) bool { return strings.Contains(text, rule) }

// body is n bytes that follow from a seed.
func body(n int, seed uint64) []byte {
	r := rand.NewPCG(seed, 17)
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint64())
	}
	return b
}
