package input

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lru"
	"github.com/ladder-cmp/ladder/object"
)

// Memory is a cache between renderings in one process: decoded documents,
// compiled schemas of values and which parts of values have no warnings, by content. Most of a chart is unchanged between
// commits. It is safe for concurrent use; a nil Memory caches nothing.
type Memory struct {
	documents *memory[document, []object.Object]
	schemas   *memory[string, Schema]
	templates *memory[[sha256.Size]byte, any]    // what package helm knows of the text of a template
	clean     *memory[[sha256.Size]byte, string] // keys of the parts of values without warnings, by the hash, since values may be secret
	shared    *object.Sharing
}

// document is a decoded text with its place, which objects contain.
type document struct {
	file string
	line int
	text string
}

// Schema is a compiled schema of values, with the remote schemas it refers to.
type Schema struct {
	*jsonschema.Schema
	Remote []string
}

// NewMemory returns a cache for texts of the given total size in bytes, of which the decoded form
// takes about ten times as much memory, and for half as much of templates.
func NewMemory(bytes int) *Memory {
	return &Memory{
		documents: newMemory[document, []object.Object](bytes / 4 * 3),
		schemas:   newMemory[string, Schema](bytes / 16 * 3),
		templates: newMemory[[sha256.Size]byte, any](bytes / 2),
		clean:     newMemory[[sha256.Size]byte, string](bytes / 16),
	}
}

// Sharing parses equal documents once, instead of caching the last texts, for a process that keeps all
// documents.
func (m *Memory) Sharing(shared *object.Sharing) *Memory {
	m.shared = shared
	return m
}

// Parse is object.Parse with a cache, or of the Sharing. Secrets are not cached, to limit how long
// they stay in memory.
func (m *Memory) Parse(file string, line int, text string) ([]object.Object, error) {
	if m == nil {
		return object.Parse(file, line, text)
	}
	if m.shared != nil {
		return m.shared.Parse(file, line, text)
	}
	return m.documents.get(document{file, line, text}, len(text), func() ([]object.Object, bool, error) {
		objs, err := object.Parse(file, line, text)
		secret := slices.ContainsFunc(objs, func(o object.Object) bool { return o.ID.Kind == "Secret" })
		return objs, !secret, err
	})
}

// Text is a text to parse, with its place as for object.Parse.
type Text struct {
	File string
	Line int
	Text string
}

// Parsed is what object.Parse returns for a Text.
type Parsed struct {
	Objects []object.Object
	Err     error
}

// ParseAll parses texts on all CPUs.
func (m *Memory) ParseAll(texts []Text) []Parsed {
	all := make([]Parsed, len(texts))
	object.Each(len(texts), func(i int) {
		all[i].Objects, all[i].Err = m.Parse(texts[i].File, texts[i].Line, texts[i].Text)
	})
	return all
}

// Compile caches a compiled schema.
func (m *Memory) Compile(text []byte, compile func() (Schema, error)) (Schema, error) {
	if m == nil {
		return compile()
	}
	return m.schemas.get(string(text), len(text), func() (Schema, bool, error) {
		c, err := compile()
		return c, true, err
	})
}

// Template returns what KeepTemplate kept of a text with this hash; nil if nothing.
func (m *Memory) Template(text [sha256.Size]byte) any {
	m.templates.mu.Lock()
	defer m.templates.mu.Unlock()
	known, _ := m.templates.all.Get(text)
	return known
}

// KeepTemplate keeps what is known of a text, of a size in bytes.
func (m *Memory) KeepTemplate(text [sha256.Size]byte, known any, size int) {
	m.templates.mu.Lock()
	defer m.templates.mu.Unlock()
	m.templates.all.Add(text, known, int64(size))
}

// FileWarnings is fileWarnings with a cache of the parts of files without warnings, since a commit
// changes few of them.
func (m *Memory) FileWarnings(file string, data []byte) []finding.Finding {
	if m == nil {
		return fileWarnings(file, data)
	}
	keys := map[string]bool{}
	for part := range topLevelParts(data) {
		key, _ := m.clean.get(sha256.Sum256(part), sha256.Size+maxKeptKey, func() (string, bool, error) {
			key := keyOfClean(part)
			return key, key != "" && len(key) <= maxKeptKey, nil
		})
		if key == "" || keys[key] {
			return fileWarnings(file, data)
		}
		keys[key] = true
	}
	return nil
}

// maxKeptKey is the longest key of values that is kept, in bytes.
const maxKeptKey = 96

// memory is a cache for concurrent use.
type memory[K comparable, V any] struct {
	mu  sync.Mutex
	all *lru.Cache[K, V]
}

func newMemory[K comparable, V any](limit int) *memory[K, V] {
	return &memory[K, V]{all: lru.New[K, V](int64(limit))}
}

// get returns the value of a key, or makes it, and caches it if make says so.
// Errors are not cached.
func (m *memory[K, V]) get(key K, size int, make func() (v V, keep bool, err error)) (V, error) {
	m.mu.Lock()
	known, found := m.all.Get(key)
	m.mu.Unlock()
	if found {
		return known, nil
	}
	v, keep, err := make()
	if err == nil && keep {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.all.Add(key, v, int64(size))
	}
	return v, err
}
