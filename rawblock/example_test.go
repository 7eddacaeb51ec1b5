package rawblock_test

import (
	"context"
	"errors"
	"fmt"

	"latlab.example/rawblock"
	"latlab.example/rawblock/crash"
)

// A store is formatted once. What was put in mode flushed is there whenever the
// device is opened again, also without a Close.
func Example() {
	ctx := context.Background()
	o := rawblock.Options{Payload: 1000, Layout: rawblock.Aligned, Strategy: rawblock.Batch, Durability: rawblock.Flushed}
	// A device in memory; TempFile and package uring have real ones.
	dev, err := crash.NewRecorder(make([]byte, rawblock.SizeFor(100, o.Payload, o.Layout, 512)), 512, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := rawblock.Format(ctx, dev, o); err != nil {
		fmt.Println(err)
		return
	}
	s, err := rawblock.Open(ctx, dev, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	keys := []rawblock.Key{rawblock.KeyOf("one"), rawblock.KeyOf("two")}
	res, err := s.PutMany(ctx, keys, [][]byte{[]byte("first"), []byte("second")})
	fmt.Printf("%+v %v\n", res, err)

	// The program dies here, and comes up again.
	s, err = rawblock.Open(ctx, dev, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", s.Recovery())
	objects := make([][]byte, 2)
	err = errors.Join(s.GetMany(ctx, keys, objects)...)
	fmt.Printf("%s %v\n", objects, err)
	fmt.Println(s.Delete(keys[0]), s.Sync(ctx), s.Close())
	// Output:
	// {Written:2 Present:0 InFlight:0 Deleted:0} <nil>
	// {Sequence:0 Rejected:0 Listed:0 Newer:2 Torn:0 Replaced:0 Damaged:0}
	// [first second] <nil>
	// <nil> <nil> <nil>
}
