package coldfetch

import (
	"container/list"
	"sync"
)

// cache keeps the documents that were used last, within a number of entries and
// of bytes.
type cache struct {
	entries, bytes int

	mu    sync.Mutex
	items map[string]*list.Element // guarded by mu
	order *list.List               // guarded by mu: of *item, the last used first
	used  int                      // guarded by mu: bytes
}

type item struct {
	slug  string
	built *Built
}

func newCache(entries, bytes int) *cache {
	return &cache{entries: entries, bytes: bytes, items: make(map[string]*list.Element), order: list.New()}
}

func (c *cache) get(slug string) (*Built, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[slug]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*item).built, true
}

// put keeps b unless it alone is too large.
func (c *cache) put(slug string, b *Built) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[slug]; ok {
		c.drop(e)
	}
	if c.entries == 0 || b.Size() > c.bytes {
		return
	}
	c.items[slug] = c.order.PushFront(&item{slug, b})
	c.used += b.Size()
	for len(c.items) > c.entries || c.used > c.bytes {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	it := c.order.Remove(e).(*item)
	delete(c.items, it.slug)
	c.used -= it.built.Size()
}

// usage is what it holds.
func (c *cache) usage() (entries, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.items), c.used
}
