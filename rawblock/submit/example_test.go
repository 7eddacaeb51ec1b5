package submit_test

import (
	"context"
	"fmt"

	"latlab.example/rawblock"
	"latlab.example/rawblock/submit"
)

// A caller hands an object over and goes on. Handing it over again is nothing to
// be done.
func Example() {
	store := newMemory()
	stored := make(chan submit.Outcome)
	s, err := submit.New(store, submit.Options{Done: func(o submit.Outcome) { stored <- o }})
	if err != nil {
		fmt.Println(err)
		return
	}
	keys := []rawblock.Key{rawblock.KeyOf("a")}
	object := submit.NewObject([]byte("hello"), func() { fmt.Println("freed") })

	res, err := s.Submit(context.Background(), keys, []*submit.Object{object})
	fmt.Printf("%+v %v\n", res, err)
	fmt.Println((<-stored).Result.Written, "written")
	res, err = s.Submit(context.Background(), keys, []*submit.Object{object})
	fmt.Printf("%+v %v\n", res, err)
	object.Release()
	fmt.Println(s.Close())
	// Output:
	// {Accepted:1 Known:0} <nil>
	// 1 written
	// {Accepted:0 Known:1} <nil>
	// freed
	// <nil>
}

// A dispatch that fails leaves references behind with the study's behaviour.
func Example_leak() {
	for _, d := range submit.DispatchToggle.Levels() {
		loop, err := submit.NewLoop(1)
		if err != nil {
			fmt.Println(err)
			return
		}
		loop.Stop()
		s, err := submit.New(newMemory(), submit.Options{Dispatch: d, Starter: loop})
		if err != nil {
			fmt.Println(err)
			return
		}
		object := submit.NewObject([]byte("hello"), nil)
		_, err = s.Submit(context.Background(), []rawblock.Key{rawblock.KeyOf("a")}, []*submit.Object{object})
		fmt.Println(err)
		fmt.Printf("%s: %d references, %d leaked, %d registered\n", d, object.Refs(), s.Stats().Leaked, s.Stats().Registered)
		_ = s.Close()
	}
	// Output:
	// submit 1 keys: background task could not be started: submit: start a task: loop is stopped; nothing will be stored
	// undo: 1 references, 0 leaked, 0 registered
	// submit 1 keys: background task could not be started: submit: start a task: loop is stopped; nothing will be stored
	// leaky: 2 references, 1 leaked, 1 registered
}
