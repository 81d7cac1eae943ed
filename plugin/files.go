package plugin

import (
	"sync"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Files caches the content of every ladder.yaml and component.yaml, so that
// requests for many components of a repository read each file once. The zero value
// is empty. It is safe for concurrent use; its content must not be modified.
type Files struct {
	// The values are functions that read a file on the first call and return the cached
	// result after that.
	ladders, components sync.Map
}

type ladderKey struct {
	base    *knowledge.Base
	dir     string
	tenants bool
}

func (f *Files) ladder(base *knowledge.Base, dir string, tenants bool,
	read func(*knowledge.Base, string, bool) (*knowledge.Base, error)) (*knowledge.Base, error) {
	if f == nil {
		return read(base, dir, tenants)
	}
	load, _ := f.ladders.LoadOrStore(ladderKey{base, dir, tenants},
		sync.OnceValues(func() (*knowledge.Base, error) { return read(base, dir, tenants) }))
	return load.(func() (*knowledge.Base, error))()
}

type componentFile struct {
	settings    Settings
	description component.Description
	err         error
}

func (f *Files) component(req Request) (Settings, component.Description, error) {
	if f == nil {
		return req.readComponent()
	}
	load, _ := f.components.LoadOrStore(req.Dir, sync.OnceValue(func() componentFile {
		s, d, err := req.readComponent()
		return componentFile{s, d, err}
	}))
	file := load.(func() componentFile)()
	return file.settings, file.description, file.err
}
