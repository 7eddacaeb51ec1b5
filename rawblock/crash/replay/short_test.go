package replay

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Short histories: every state after a crash at any moment.
func TestEveryStateOfShortHistories(t *testing.T) {
	const all = 1 << 13 // states of a moment
	long := map[int]int{0: 700, 1: 448, 2: 3, 3: payload, 4: 64}
	scripts := map[string]func(*script){
		"one put":      func(s *script) { s.put(false, long, 0) },
		"a batch":      func(s *script) { s.put(false, long, 0, 1, 2) },
		"put, delete":  func(s *script) { s.put(false, long, 0); s.delete(0) },
		"sync, delete": func(s *script) { s.put(false, long, 0, 1); s.sync(); s.delete(0) },
		"delete, sync": func(s *script) { s.put(false, long, 0, 1); s.delete(0); s.sync() },
		"put, sync, sync": func(s *script) {
			s.put(false, long, 0)
			s.sync()
			s.delete(0)
			s.sync()
			s.put(false, long, 0)
			s.sync()
		},
		"put again":         func(s *script) { s.put(false, long, 0); s.delete(0); s.put(false, long, 0) },
		"a slot used again": func(s *script) { s.put(false, long, 0, 1, 2, 4); s.sync(); s.delete(0); s.put(false, long, 3) },
		"sync in a put":     func(s *script) { s.rec.Hook(s.sync); s.put(false, long, 0, 1) },
		"sync of another":   func(s *script) { s.put(false, long, 2); s.rec.Hook(s.sync); s.put(false, long, 0, 1) },
		"delete in a put":   func(s *script) { s.rec.Hook(func() { s.delete(0) }); s.put(false, long, 0, 1) },
		"cancel, sync, reuse": func(s *script) {
			s.put(false, long, 2)
			s.rec.Hook(func() { s.delete(0); s.sync() })
			s.put(false, long, 0)
			s.put(false, long, 1)
		},
	}
	c := New()
	for name, f := range scripts {
		for _, set := range settings() {
			t.Run(fmt.Sprintf("%s/%s,%s,%s,verify=%v", name, set.mode, set.layout, set.strategy, set.verify), func(t *testing.T) {
				image, err := format(t.Context(), set.layout)
				if err != nil {
					t.Fatal(err)
				}
				s, err := newScript(t.Context(), image, set, &oracle{mode: set.mode}, "")
				if err != nil {
					t.Fatal(err)
				}
				f(s)
				for n := range s.rec.Len() {
					if count := s.rec.After(n).Count(); count > all {
						t.Fatalf("%d states after %d events: not a short history", count, n)
					}
				}
				_, err = c.script(s, set, all, 0)
				if err := errors.Join(err, s.store.Close()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	t.Logf("%d states of %d scripts in %d settings, %d of them used on", c.States, len(scripts), len(settings()), c.Used)
}
