package input

import (
	"math"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ladder-cmp/ladder/object"
)

// Memory is what one rendering leaves for the next in the same process: the
// decoded documents and the compiled schemas of values, by their content. Most
// of a chart is the same from commit to commit. It is safe for use by several
// goroutines; nil remembers nothing.
type Memory struct {
	documents *memory[document, []object.Object]
	schemas   *memory[string, Schema]
}

// document is a text that was decoded, and where it came from: objects know.
type document struct {
	file string
	line int
	text string
}

// Schema is a compiled schema of values, with the schemas elsewhere that it refers to.
type Schema struct {
	*jsonschema.Schema
	Remote []string
}

// NewMemory makes a memory for so many bytes of text. What is made of a text
// takes some ten times as much.
func NewMemory(bytes int) *Memory {
	return &Memory{
		documents: newMemory[document, []object.Object](bytes / 4 * 3),
		schemas:   newMemory[string, Schema](bytes / 4),
	}
}

// Parse is object.Parse, remembered. Secrets are not: nothing says for how long.
func (m *Memory) Parse(file string, line int, text string) ([]object.Object, error) {
	if m == nil {
		return object.Parse(file, line, text)
	}
	return m.documents.get(document{file, line, text}, len(text), func() ([]object.Object, bool, error) {
		objs, err := object.Parse(file, line, text)
		secret := slices.ContainsFunc(objs, func(o object.Object) bool { return o.ID.Kind == "Secret" })
		return objs, !secret, err
	})
}

// Compile remembers a schema.
func (m *Memory) Compile(text []byte, compile func() (Schema, error)) (Schema, error) {
	if m == nil {
		return compile()
	}
	return m.schemas.get(string(text), len(text), func() (Schema, bool, error) {
		c, err := compile()
		return c, true, err
	})
}

// memory remembers what was made of a key, the latest used longest.
type memory[K comparable, V any] struct {
	limit int // of size

	mu   sync.Mutex
	all  *simplelru.LRU[K, remembered[V]]
	size int
}

type remembered[V any] struct {
	value V
	size  int
}

func newMemory[K comparable, V any](limit int) *memory[K, V] {
	all, _ := simplelru.NewLRU[K, remembered[V]](math.MaxInt, nil) // fails for a size of 0 only
	return &memory[K, V]{limit: limit, all: all}
}

// get returns what was made of a key, or makes it, and remembers it if make says
// so. Errors are not remembered.
func (m *memory[K, V]) get(key K, size int, make func() (v V, keep bool, err error)) (V, error) {
	m.mu.Lock()
	known, found := m.all.Get(key)
	m.mu.Unlock()
	if found {
		return known.value, nil
	}
	v, keep, err := make()
	if err != nil || !keep || size > m.limit {
		return v, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.all.Contains(key) {
		m.all.Add(key, remembered[V]{v, size})
		m.size += size
	}
	for m.size > m.limit {
		_, oldest, _ := m.all.RemoveOldest()
		m.size -= oldest.size
	}
	return v, nil
}
