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
	ladders, components sync.Map // of functions that read a file once
}

type ladderOf struct {
	base *knowledge.Base
	dir  string
}

func (f *Files) ladder(base *knowledge.Base, dir string, read func(*knowledge.Base, string) (*knowledge.Base, error)) (*knowledge.Base, error) {
	if f == nil {
		return read(base, dir)
	}
	once, _ := f.ladders.LoadOrStore(ladderOf{base, dir}, sync.OnceValues(func() (*knowledge.Base, error) { return read(base, dir) }))
	return once.(func() (*knowledge.Base, error))()
}

type described struct {
	settings    Settings
	description component.Description
	err         error
}

func (f *Files) component(req Request) (Settings, component.Description, error) {
	if f == nil {
		return req.readComponent()
	}
	once, _ := f.components.LoadOrStore(req.Dir, sync.OnceValue(func() described {
		s, d, err := req.readComponent()
		return described{s, d, err}
	}))
	got := once.(func() described)()
	return got.settings, got.description, got.err
}
