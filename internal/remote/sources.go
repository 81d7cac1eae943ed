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

// Rules of the findings that say that nobody has tried to fetch a thing:
// NotVendored that it is not at hand and nothing is fetched, NotAllowed that it is
// not on the list of what may be.
const (
	NotVendored = "not-vendored"
	NotAllowed  = "remote-not-allowed"
)

// Broken is the rule of the finding that says that what came cannot be what was asked
// for.
const Broken = "remote-broken"

// OtherThanLocked is the rule of the finding that says that a lock calls a chart by
// a name or a version that it has not.
const OtherThanLocked = "edited-lock"

// Vendored fetches what lies beside a component, as its lock says.
type Vendored struct {
	Lock Lock
	// Read returns the content of a file by its path in the component's directory.
	Read func(file string) ([]byte, error)
	// Show returns how messages name such a file; nil means by that path.
	Show func(file string) string
}

func (v *Vendored) show(file string) string {
	if v.Show == nil {
		return file
	}
	return v.Show(file)
}

// Fetch returns what the lock has for ref. A file that is not there, or not the
// one that the lock speaks of, is an error, and so is a Ref that is not in the
// lock: see NotVendored.
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
		bad.Rule, bad.Message, bad.Remedy = OtherThanLocked, other, "restore "+v.show(LockFile)+", or delete it and run cmp vendor again"
		return Content{}, bad
	}
	return Content{Version: e.Resolved, Digest: e.Digest, Data: data}, nil
}

// cause is an error without the path, which the finding has.
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

// Sources are where the things of one component come from: what is in its lock
// lies beside it, and else the network is asked, if it may be.
type Sources struct {
	// Vendored is nil if the component has no lock.
	Vendored *Vendored
	// Network is nil if nothing may be fetched.
	Network Fetcher
	// Dir is how messages call the component's directory.
	Dir string
	// Remedy is what helps a component that lacks something; empty for what is usual.
	Remedy string
}

// Fetch gets what ref names.
func (s Sources) Fetch(ctx context.Context, ref Ref) (Content, error) {
	if s.Locked(ref) {
		return s.Vendored.Fetch(ctx, ref)
	}
	if s.Network != nil {
		return s.Network.Fetch(ctx, ref)
	}
	f := finding.Finding{Severity: finding.Error, Rule: NotVendored, Object: ref.String(), Message: "it is not in this repository, and nothing is fetched"}
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

// Remedy is what helps a component that lacks something.
func Remedy(dir string) string {
	return "run cmp vendor " + dir + ", or allow it with --allow-remote"
}

// Fetched is a Ref, and what it came to.
type Fetched struct {
	Ref     Ref
	Content Content
}

// Recorder fetches each Ref once with another Fetcher, and keeps what came. It
// can be used by several goroutines.
type Recorder struct {
	From Fetcher

	mu  sync.Mutex
	got map[Ref]*once
}

// once is a Ref that is fetched, or was if it is done.
type once struct {
	sync.Mutex
	done    bool
	content Content
	err     error
}

// Fetch gets what ref names. All who ask for it at the same time get the same, but
// for an error that is one of the context of who asked first.
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

// Fetched lists what came, sorted by what was asked for. It is for when nobody
// fetches any more.
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

// Exact reports whether a Ref could have come to nothing else: it names the
// version that it came to. That of a chart may have a "v" before it or not.
func (f Fetched) Exact() bool {
	asked, came := f.Ref.Version, f.Content.Version
	if f.Ref.Kind == Chart {
		asked, came = strings.TrimPrefix(asked, "v"), strings.TrimPrefix(came, "v")
	}
	return f.Ref.Kind == File || asked == came
}
