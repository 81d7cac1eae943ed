package remote

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// NotVendored is the rule for a source that is not vendored and may not be fetched: fetching is
// disabled, or the allow-list does not contain it.
const NotVendored finding.Rule = "not-vendored"

// Source is the rule for a source that cannot be fetched, is not what was requested, or may change.
const Source finding.Rule = "remote-source"

// LockMismatch is the rule for a chart whose name or version differs from its
// lock entry.
const LockMismatch finding.Rule = "edited-lock"

// Vendored returns vendored content according to a lock.
type Vendored struct {
	Lock Lock
	// Read returns the content of a file by its path in the component's directory.
	Read func(file string) ([]byte, error)
	// Show converts such a path for messages; nil leaves it unchanged.
	Show func(file string) string
}

func (v *Vendored) show(file string) string {
	if v.Show == nil {
		return file
	}
	return v.Show(file)
}

// Fetch returns the content of ref. It is an error if the file is missing or
// differs from the lock, or if the lock has no entry for ref: see NotVendored.
func (v *Vendored) Fetch(_ context.Context, ref Ref) (Content, error) {
	e, known := v.Lock.Find(ref)
	if !known {
		return Content{}, v.missing(ref)
	}
	bad := finding.Finding{Severity: finding.Error, Rule: badLock, File: v.show(LockFile), Line: e.Line, Object: ref.String(), Field: e.File}
	data, err := v.Read(e.File)
	if err != nil {
		bad.Message, bad.Remedy = "it cannot be read: "+cause(err), "commit it (is it in a .gitignore?), or run cmp vendor again"
		return Content{}, bad
	}
	if got := Digest(data); got != e.Digest {
		bad.Message, bad.Remedy = fmt.Sprintf("its digest is %s, and not %s", got, e.Digest), "restore it, or delete it and run cmp vendor again"
		return Content{}, bad
	}
	if other := OtherChart(data, e.Chart, e.Resolved); e.Kind == Chart && other != "" {
		bad.Rule, bad.Message, bad.Remedy = LockMismatch, other, "restore "+v.show(LockFile)+", or delete it and run cmp vendor again"
		return Content{}, bad
	}
	return Content{Version: e.Resolved, Digest: e.Digest, Data: data}, nil
}

// cause returns an error without the path, which the finding contains.
func cause(err error) string {
	if inner, ok := err.(interface{ Unwrap() error }); ok && inner.Unwrap() != nil {
		return inner.Unwrap().Error()
	}
	return err.Error()
}

func (v *Vendored) missing(ref Ref) finding.Finding {
	f := finding.Finding{Severity: finding.Error, Rule: NotVendored, Object: ref.String(), Message: "it is not in " + v.show(LockFile)}
	if other, ok := v.Lock.near(ref); ok && other.Version != ref.Version {
		f.Message += ", which has it as " + cmp.Or(other.Version, "the newest")
	}
	return f
}

// Sources are the sources of a component: vendored content according to its lock,
// otherwise the network, if allowed.
type Sources struct {
	// Vendored is nil if the component has no lock.
	Vendored *Vendored
	// Network is nil if fetching is disabled.
	Network Fetcher
	// Dir is the component's directory in messages.
	Dir string
	// Remedy is the fix for a missing source; empty means the default.
	Remedy string
}

// Fetch fetches a Ref.
func (s Sources) Fetch(ctx context.Context, ref Ref) (Content, error) {
	if s.Locked(ref) {
		return s.Vendored.Fetch(ctx, ref)
	}
	if s.Network != nil {
		return s.Network.Fetch(ctx, ref)
	}
	f := finding.Finding{Severity: finding.Error, Rule: NotVendored, Object: ref.String(),
		Message: "it is not in this repository, and nothing is fetched"}
	if s.Vendored != nil {
		f = s.Vendored.missing(ref)
	}
	f.Remedy = cmp.Or(s.Remedy, Remedy(s.Dir))
	return Content{}, f
}

// Locked reports whether the lock has an entry for ref.
func (s Sources) Locked(ref Ref) bool {
	if s.Vendored == nil {
		return false
	}
	_, known := s.Vendored.Lock.Find(ref)
	return known
}

// Remedy returns the default fix for a missing source.
func Remedy(dir string) string {
	return "run cmp vendor " + dir + ", or allow the source with --allow-remote"
}

// Fetched is a Ref with its content.
type Fetched struct {
	Ref     Ref
	Content Content
}

// Recorder fetches each Ref once with another Fetcher, and keeps the content. It is
// safe for concurrent use.
type Recorder struct {
	From Fetcher

	mu  sync.Mutex
	got map[Ref]*once
}

// once is a Ref being fetched, or fetched if done.
type once struct {
	sync.Mutex
	done    bool
	content Content
	err     error
}

// Fetch fetches a Ref. Concurrent callers get the same result, except for an error
// of the first caller's context.
func (r *Recorder) Fetch(ctx context.Context, ref Ref) (Content, error) {
	r.mu.Lock()
	if r.got == nil {
		r.got = map[Ref]*once{}
	}
	o := r.got[ref]
	if o == nil {
		o = &once{}
		r.got[ref] = o
	}
	r.mu.Unlock()
	o.Lock()
	defer o.Unlock()
	if !o.done {
		o.content, o.err = r.From.Fetch(ctx, ref)
		o.done = o.err == nil || ctx.Err() == nil
	}
	return o.content, o.err
}

// Fetched lists the fetched content, sorted by Ref. It must not be called during a
// fetch.
func (r *Recorder) Fetched() []Fetched {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Fetched
	for ref, o := range r.got {
		if o.err == nil && o.content.Digest != "" {
			all = append(all, Fetched{ref, o.content})
		}
	}
	slices.SortFunc(all, func(x, y Fetched) int {
		a, b := x.Ref, y.Ref
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Chart, b.Chart), cmp.Compare(a.URL, b.URL), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// Exact reports whether a Ref identifies its content: its version is the resolved
// one. A "v" prefix of a chart's version is ignored.
func (f Fetched) Exact() bool {
	requested, received := f.Ref.Version, f.Content.Version
	if f.Ref.Kind == Chart {
		requested, received = strings.TrimPrefix(requested, "v"), strings.TrimPrefix(received, "v")
	}
	return f.Ref.Kind == File || requested == received
}
