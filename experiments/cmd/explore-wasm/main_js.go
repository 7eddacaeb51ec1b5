package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"syscall/js"
	"time"

	"latlab.example/experiments/explore"
	"latlab.example/experiments/registry"
)

// breath lets the worker hear what the page says meanwhile: that another setting
// was chosen.
const breath = time.Millisecond

func main() {
	models := explore.Models(registry.All())
	catalog, err := json.Marshal(models)
	if err != nil {
		panic(err) // it is made of texts and numbers
	}
	var mu sync.Mutex
	stop := func() {}
	// latlabRun(request, answer) runs the request and calls answer(text, null) for
	// each answer, and answer(null, error) if there can't be one. It ends the run
	// before.
	run := js.FuncOf(func(_ js.Value, args []js.Value) any {
		text, tell := args[0].String(), args[1]
		ctx, cancel := context.WithCancel(context.Background())
		mu.Lock()
		stop()
		stop = cancel
		mu.Unlock()
		go func() {
			defer cancel()
			q, err := explore.Read(strings.NewReader(text))
			if err == nil {
				err = models.Run(ctx, q, func(a explore.Answer) bool {
					time.Sleep(breath)
					if ctx.Err() != nil {
						return false
					}
					text, err := json.Marshal(a)
					if err != nil {
						panic(err) // an answer has no value that JSON lacks
					}
					tell.Invoke(string(text), js.Null())
					return true
				})
			}
			if err != nil && ctx.Err() == nil {
				tell.Invoke(js.Null(), err.Error())
			}
		}()
		return nil
	})
	js.Global().Set("latlabRun", run)
	js.Global().Call("latlabReady", string(catalog))
	select {}
}
