package submit

import (
	"errors"
	"fmt"
	"sync"
)

// ErrStopped occurs when a task is handed to a loop that was stopped.
var ErrStopped = errors.New("loop is stopped")

// Starter starts background tasks. Start runs the task once, on another
// goroutine, or not at all and returns an error. It doesn't wait for the task.
type Starter interface {
	Start(task func()) error
}

// Loop runs tasks in order of arrival on its workers. It doesn't bound how many
// wait: a Submitter does. Its methods may be called concurrently.
type Loop struct {
	workers sync.WaitGroup

	mu      sync.Mutex // guards what follows
	more    sync.Cond  // on mu: a task or the stop came
	tasks   []func()
	stopped bool
}

var _ Starter = (*Loop)(nil)

// NewLoop starts a loop with so many workers, at least one. Stop ends them.
func NewLoop(workers int) (*Loop, error) {
	if workers < 1 {
		return nil, fmt.Errorf("submit: loop with %d workers: at least one is needed", workers)
	}
	l := &Loop{}
	l.more.L = &l.mu
	for range workers {
		l.workers.Go(l.run)
	}
	return l, nil
}

// Start puts the task at the end of the queue. The error wraps ErrStopped.
func (l *Loop) Start(task func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return fmt.Errorf("submit: start a task: %w", ErrStopped)
	}
	l.tasks = append(l.tasks, task)
	l.more.Signal()
	return nil
}

// Stop refuses tasks from now on, and returns when those that were accepted have
// run. It may be called again.
func (l *Loop) Stop() {
	l.mu.Lock()
	l.stopped = true
	l.more.Broadcast()
	l.mu.Unlock()
	l.workers.Wait()
}

func (l *Loop) run() {
	for {
		l.mu.Lock()
		for len(l.tasks) == 0 && !l.stopped {
			l.more.Wait()
		}
		if len(l.tasks) == 0 {
			l.mu.Unlock()
			return
		}
		task := l.tasks[0]
		l.tasks[0] = nil
		l.tasks = l.tasks[1:]
		l.mu.Unlock()
		task()
	}
}
