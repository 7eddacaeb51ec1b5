package fake

import "sync"

// answers keeps big answers, since they take the fake longer than it may say.
type answers struct {
	mu  sync.Mutex
	all map[string]answer // guarded by mu
}

const (
	keepFrom = 2000 // rows looked at
	keepRows = 1000 // rows sent
	keepMost = 1024 // answers
)

func (k *answers) init() { k.all = map[string]answer{} }

func (k *answers) get(key string) (answer, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a, ok := k.all[key]
	return a, ok
}

func (k *answers) put(key string, a answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) >= keepMost {
		clear(k.all)
	}
	k.all[key] = a
}
