package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// caught is the cause of a context that a signal ended.
type caught struct{ syscall.Signal }

func (c caught) Error() string { return c.String() }

// signals are those that end a command in an orderly way. A program that was
// started to outlive its terminal, by nohup say, goes on ignoring SIGHUP.
func signals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// untilSignal is a context that the first signal ends. A second one ends the
// process at once.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	incoming := make(chan os.Signal, 1)
	signal.Notify(incoming, signals()...)
	go func() {
		select {
		case s := <-incoming:
			signal.Stop(incoming)
			if n, ok := s.(syscall.Signal); ok {
				cancel(caught{n})
			} else {
				cancel(nil)
			}
		case <-ctx.Done():
			signal.Stop(incoming)
		}
	}()
	return ctx, func() { cancel(nil) }
}

// stopped is the error of a command that was ended early.
type stopped struct {
	by   syscall.Signal
	left string // what became of the work; may be empty
}

// stoppedBy says by what the context was ended. A caller that cancelled it
// counts as Ctrl-C.
func stoppedBy(ctx context.Context, left string) error {
	s := stopped{syscall.SIGINT, left}
	var c caught
	if errors.As(context.Cause(ctx), &c) {
		s.by = c.Signal
	}
	return s
}

func (s stopped) Error() string {
	word := "interrupted"
	switch s.by {
	case syscall.SIGTERM:
		word = "terminated"
	case syscall.SIGHUP:
		word = "hung up"
	}
	return word + s.left
}

// exitCode is a shell's for a program that the signal ended.
func (s stopped) exitCode() int { return 128 + int(s.by) }
