package emu

import (
	"errors"
	"fmt"
	mathrand "math/rand"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/quick"
	"time"
)

func TestScheduleNext(t *testing.T) {
	for text, want := range map[string][]string{ // of calls 1 to 6 of write
		"":                     {"", "", "", "", "", ""},
		"read:error@1":         {"", "", "", "", "", ""},
		"write:error@3":        {"", "", "error", "", "", ""},
		"write:torn@every(2)":  {"", "torn", "", "torn", "", "torn"},
		"write:short@p(1)":     {"short", "short", "short", "short", "short", "short"},
		"write:slow(5ms)@2":    {"", "slow 5ms", "", "", "", ""},
		"write:reset@every(1)": {"reset", "reset", "reset", "reset", "reset", "reset"},
		"write:error@2; write:torn@every(2); write:short@1": {"short", "error", "", "torn", "", "torn"},
	} {
		s, err := ParseFaults(text)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			f, ok := s.Next("write")
			var got string
			if ok {
				got = f.Kind.String()
				if f.Call != uint64(i+1) || f.Op != "write" || !errors.Is(f.Err(), ErrInjected) {
					t.Errorf("%q: call %d: %+v", text, i+1, f)
				}
			}
			if f.Delay > 0 {
				got += " " + f.Delay.String()
			}
			if got != w {
				t.Errorf("%q: call %d has %q, want %q", text, i+1, got, w)
			}
		}
	}
}

func TestNilSchedule(t *testing.T) {
	var s *Schedule
	if f, ok := s.Next("write"); ok || s.Check() != nil || s.String() != "" {
		t.Errorf("a nil schedule has %+v, %v, %q", f, s.Check(), s)
	}
}

// One operation's faults depend on its count alone: not on other operations,
// nor on who calls.
func TestScheduleIgnoresOrder(t *testing.T) {
	const text = "a:error@p(0.1,seed=7); b:torn@p(0.1,seed=7); a:short@every(7)"
	const calls = 1000
	faults := func(concurrent bool) map[string][]Fault {
		s, err := ParseFaults(text)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		hit := map[string][]Fault{}
		call := func(op string) {
			if f, ok := s.Next(op); ok {
				mu.Lock()
				defer mu.Unlock()
				hit[op] = append(hit[op], f)
			}
		}
		var all sync.WaitGroup
		for range calls {
			for _, op := range []string{"a", "b"} {
				if concurrent {
					all.Go(func() { call(op) })
				} else {
					call(op)
				}
			}
		}
		all.Wait()
		for _, fs := range hit {
			slices.SortFunc(fs, func(x, y Fault) int { return int(x.Call) - int(y.Call) })
		}
		return hit
	}
	one, many := faults(false), faults(true)
	if !reflect.DeepEqual(one, many) {
		t.Errorf("faults differ:\n%v\n%v", one, many)
	}
	if len(one["b"]) == 0 || len(one["a"]) < calls/7 {
		t.Errorf("too few faults: %v", one)
	}
}

func TestProbability(t *testing.T) {
	const calls = 100_000
	var seen []int
	for _, text := range []string{"w:error@p(0.01,seed=1)", "w:error@p(0.01,seed=2)"} {
		s, err := ParseFaults(text)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range calls {
			f, ok := s.Next("w")
			if ok && n == 0 {
				seen = append(seen, int(f.Call))
			}
			if ok {
				n++
			}
		}
		if n < 900 || n > 1100 { // 1000 and three standard deviations
			t.Errorf("%s: %d of %d calls", text, n, calls)
		}
	}
	if seen[0] == seen[1] {
		t.Errorf("both seeds begin at call %d", seen[0])
	}
}

func TestScheduleCheck(t *testing.T) {
	s, err := ParseFaults("write:error@1; wirte:error@2")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check("write", "wirte"); err != nil {
		t.Errorf("known operations: %v", err)
	}
	err = s.Check("read", "write")
	if !errors.Is(err, ErrUnknownOp) || !strings.Contains(err.Error(), "wirte") || !strings.Contains(err.Error(), "read, write") {
		t.Errorf("error %v", err)
	}
}

func TestParseFaultsErrors(t *testing.T) {
	for text, offset := range map[string]int{
		";": 0, "write": 5, "9:error@1": 0, "write:": 6, "write:burn@1": 6, "write:error": 11, "write:error@": 12,
		"write:error@0": 12, "write:error@-1": 12, "write:error@1.5": 12, "write:error@x": 12,
		"write:error(5ms)@1": 11, "write:slow@1": 10, "write:slow()@1": 11, "write:slow(5)@1": 11, "write:slow(5ms@1": 14,
		"write:error@every": 17, "write:error@every(": 18, "write:error@every(0)": 18, "write:error@every(2": 19,
		"write:error@p": 13, "write:error@p(0)": 14, "write:error@p(1.1)": 14, "write:error@p(1e-3)": 14,
		"write:error@p(0.1,x)": 18, "write:error@p(0.1,seed)": 18, "write:error@p(0.1,seed=x)": 23, "write:error@p(0.1": 17,
		"write:error@1;": 14, "write:error@1 write:error@2": 14, "a:error@1; b:eror@2": 13,
		"write:error@18446744073709551616": 12,
	} {
		_, err := ParseFaults(text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: error %v, want a SyntaxError", text, err)
		} else if syntax.Offset != offset || syntax.Text != text {
			t.Errorf("%q: %v, want offset %d", text, err, offset)
		}
	}
}

// rules is a random schedule for testing/quick.
type rules []rule

func (rules) Generate(r *mathrand.Rand, size int) reflect.Value {
	random := rand.New(rand.NewPCG(r.Uint64(), 0))
	all := rules{}
	for range random.IntN(5) {
		one := rule{op: []string{"read", "write", "_x", "S3.Get-Object", "every", "p"}[random.IntN(6)], kind: FaultKind(random.IntN(len(faultKinds)))}
		if one.kind == Slow {
			one.delay = time.Duration(random.Int64N(int64(time.Hour)))
		}
		switch random.IntN(3) {
		case 0:
			one.nth = 1 + random.Uint64N(1000)
		case 1:
			one.every = 1 + random.Uint64N(1000)
		default:
			one.chance, one.seed = 1+random.Uint64N(certain), random.Uint64()
		}
		all = append(all, one)
	}
	return reflect.ValueOf(all)
}

func TestFaultsPrintBack(t *testing.T) {
	back := func(want rules) bool {
		text := (&Schedule{rules: want}).String()
		got, err := ParseFaults(text)
		return err == nil && slices.Equal(got.rules, want) && got.String() == text
	}
	if err := quick.Check(back, nil); err != nil {
		t.Error(err)
	}
}

func FuzzFaults(f *testing.F) {
	for _, text := range []string{"", "write:error@3; write:torn@every(100); read:slow(5ms)@p(0.01,seed=7)", "a:reset@p(1)", "a : short @ every ( 2 ) ;b:error@1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseFaults(text)
		if err != nil {
			return
		}
		again, err := ParseFaults(s.String())
		if err != nil || again.String() != s.String() || !slices.Equal(again.rules, s.rules) {
			t.Fatalf("%q prints as %s, which reads as %s, %v", text, s, again, err)
		}
		for _, r := range s.rules {
			a, okA := s.Next(r.op)
			b, okB := again.Next(r.op)
			if a != b || okA != okB {
				t.Fatalf("%s: %v, then %v", s, a, b)
			}
		}
	})
}

func ExampleParseFaults() {
	s, err := ParseFaults("write:error@3;  read:slow(5ms) @ p(0.50, seed=7)")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s)
	for range 4 {
		if f, ok := s.Next("write"); ok {
			fmt.Println(f.Err())
		}
	}
	_, err = ParseFaults("write:eror@3")
	fmt.Println(err)
	// Output:
	// write:error@3; read:slow(5ms)@p(0.5,seed=7)
	// emu: call 3 of write: injected fault: error
	// emu: "write:eror@3" at offset 6: expected one of error, short, torn, slow, reset, got "eror"
}
