package fake

import (
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// answers keeps what searches found, since a big circle takes the fake longer
// than it may say.
type answers struct {
	mu  sync.Mutex
	all map[string]hits // guarded by mu; nobody changes the hits
}

const (
	keepRows = 1000  // of an answer: bigger ones aren't kept
	keepMost = 10000 // answers
)

func (k *answers) init() { k.all = map[string]hits{} }

func (k *answers) find(key string, search func() (hits, *pgproto3.ErrorResponse)) (hits, *pgproto3.ErrorResponse) {
	k.mu.Lock()
	h, ok := k.all[key]
	k.mu.Unlock()
	if ok {
		return h, nil
	}
	h, fail := search()
	if fail == nil && len(h.rows) <= keepRows {
		k.mu.Lock()
		defer k.mu.Unlock()
		if len(k.all) >= keepMost {
			clear(k.all)
		}
		k.all[key] = h
	}
	return h, fail
}
