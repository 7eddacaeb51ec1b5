package submit_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"latlab.example/rawblock/submit"
)

func TestObjectIsFreedOnce(t *testing.T) {
	freed := 0
	o := submit.NewObject([]byte("x"), func() { freed++ })
	o.Retain()
	o.Release()
	if freed != 0 || o.Refs() != 1 || string(o.Bytes()) != "x" {
		t.Errorf("freed %d, %d references, %q", freed, o.Refs(), o.Bytes())
	}
	o.Release()
	if freed != 1 {
		t.Errorf("freed %d times, want once", freed)
	}
	for name, misuse := range map[string]func(){"retain": o.Retain, "release": o.Release} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a freed object: no panic", name)
				}
			}()
			misuse()
		}()
	}
	submit.NewObject(nil, nil).Release() // nobody wants to hear of it
}

func TestLoopRunsWhatItAccepted(t *testing.T) {
	l, err := submit.NewLoop(1)
	if err != nil {
		t.Fatal(err)
	}
	var ran []int
	gate := make(chan struct{})
	for i := range 5 {
		if err := l.Start(func() { <-gate; ran = append(ran, i) }); err != nil {
			t.Error(err)
		}
	}
	close(gate)
	l.Stop()
	if !slices.Equal(ran, []int{0, 1, 2, 3, 4}) {
		t.Errorf("ran %v, want all in order", ran)
	}
	if err := l.Start(func() { t.Error("ran after Stop") }); !errors.Is(err, submit.ErrStopped) {
		t.Errorf("start after stop: %v", err)
	}
	l.Stop()
	if _, err := submit.NewLoop(0); err == nil {
		t.Error("no workers, and no error")
	}
}

// Workers run tasks at the same time.
func TestLoopWorkers(t *testing.T) {
	l, err := submit.NewLoop(3)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Stop()
	var together, done sync.WaitGroup
	together.Add(3)
	done.Add(3)
	for range 3 {
		if err := l.Start(func() { together.Done(); together.Wait(); done.Done() }); err != nil {
			t.Error(err)
		}
	}
	done.Wait()
}

// A Submitter on a loop that was stopped, as in the study.
func TestStoppedLoop(t *testing.T) {
	l, err := submit.NewLoop(1)
	if err != nil {
		t.Fatal(err)
	}
	l.Stop()
	s := open(t, newMemory(), submit.Options{Starter: l})
	keys, objects := some(0, 2)
	if _, err := s.Submit(t.Context(), keys, objects); !errors.Is(err, submit.ErrDispatch) || !errors.Is(err, submit.ErrStopped) {
		t.Errorf("%v, want ErrDispatch for ErrStopped", err)
	}
	wantRefs(t, "stopped", objects, 1, 1)
}
