// Package lru limits the memory of a cache: it evicts the least recently used entries.
package lru

import (
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache is a cache of entries with a limited total size. It is not safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit, size int64
	all         *simplelru.LRU[K, entry[V]]
}

type entry[V any] struct {
	value V
	size  int64
}

// New returns a cache for entries of the given total size.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	all, _ := simplelru.NewLRU[K, entry[V]](math.MaxInt, nil) // fails only for size 0
	return &Cache[K, V]{limit: limit, all: all}
}

// Get returns the value of a key, and marks it as used.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	e, found := c.all.Get(key)
	return e.value, found
}

// Fits reports whether an entry of this size can be added.
func (c *Cache[K, V]) Fits(size int64) bool { return size <= c.limit }

// Add adds a value if it fits, and returns the keys that it evicted.
func (c *Cache[K, V]) Add(key K, value V, size int64) (evicted []K) {
	if !c.Fits(size) {
		return nil
	}
	c.Remove(key)
	c.all.Add(key, entry[V]{value, size})
	c.size += size
	for c.size > c.limit {
		oldest, e, _ := c.all.RemoveOldest()
		c.size -= e.size
		evicted = append(evicted, oldest)
	}
	return evicted
}

// Remove removes an entry, if there is one.
func (c *Cache[K, V]) Remove(key K) {
	e, _ := c.all.Peek(key)
	c.all.Remove(key)
	c.size -= e.size
}

// Clear removes all entries.
func (c *Cache[K, V]) Clear() {
	c.all.Purge()
	c.size = 0
}

// Keys returns the keys, least recently used first.
func (c *Cache[K, V]) Keys() []K { return c.all.Keys() }

// Size returns the total size and the number of the entries.
func (c *Cache[K, V]) Size() (size int64, entries int) { return c.size, c.all.Len() }
