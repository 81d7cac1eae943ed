// Package vendoring puts what components need from elsewhere beside them, with a lock.
package vendoring

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/fetchers"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
)

// Vendoring is how components are vendored.
type Vendoring struct {
	Check  bool
	Keep   bool
	Update []string // names; everything for all
	// AsGiven means that the directory is the component, whatever lies in it.
	AsGiven  bool
	Settings plugin.Settings
	Base     *knowledge.Base
	Network  *Network // nil with check
}

// Run vendors for the components in directories: it looks at all before it writes
// anything. text says what has changed; warnings are told before an error.
func (v *Vendoring) Run(ctx context.Context, dirs []string) (text string, warnings []finding.Finding, err error) {
	var all []*vendored
	var faults []error
	for _, dir := range dirs {
		some, done, err := v.open(dir)
		if err != nil {
			return "", nil, err
		}
		defer done()
		for _, c := range some {
			faults = append(faults, c.look(ctx))
		}
		all = append(all, some...)
	}
	if err := errors.Join(append(faults, v.unknownNames(all))...); err != nil {
		return "", nil, err
	}
	if v.Check {
		return checked(all), nil, nil
	}
	for _, c := range all {
		for _, f := range c.fetched {
			if f.Content.Warning != "" {
				warnings = append(warnings, finding.Finding{Severity: finding.Warning, Rule: "remote-cached", File: c.shown, Object: f.Ref.String(), Message: f.Content.Warning,
					Remedy: "make the source reachable, and run cmp vendor again"})
			}
		}
		if err := c.write(); err != nil {
			return "", warnings, err
		}
	}
	return written(all), warnings, nil
}

// open finds the components in a directory.
func (v *Vendoring) open(dir string) ([]*vendored, func(), error) {
	if dir == "" {
		return nil, nil, usage.New(`the name of the directory is empty; name the directory of the component, or "." for this one`)
	}
	if err := checkout.IsThere(dir); err != nil {
		return nil, nil, err
	}
	c, err := checkout.Open(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	found, err := v.components(c)
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	var all []*vendored
	for _, at := range found {
		one := &vendored{of: v, checkout: c, dir: at, shown: c.Show(at)}
		all = append(all, one)
	}
	return all, c.Close, nil
}

// components are the directories of the components in a folder: those that describe
// themselves, and the charts and kustomizations that do not, and are no part of others.
func (v *Vendoring) components(c *checkout.Checkout) ([]string, error) {
	found, err := fleet.Source{Repo: c.Repo, Dirs: []string{c.Dir}, Show: c.Show}.Directories()
	if v.AsGiven {
		return found, err
	}
	var described []string
	for _, dir := range found {
		if locate.KindAt(c.Repo, dir) == locate.Described {
			described = append(described, dir)
		}
	}
	others, wrong := render.Roots(c.Repo, c.Dir, described)
	if wrong != nil {
		return nil, fmt.Errorf("%s: %w", c.Show(c.Dir), wrong)
	}
	if len(described) == 0 && len(others) > 0 {
		return others, nil
	}
	found = append(found, others...)
	slices.Sort(found)
	return slices.Compact(found), err
}

// updates reports whether an entry is to be looked for anew.
func (v *Vendoring) updates(e remote.Entry) bool {
	return slices.Contains(v.Update, Everything) || slices.Contains(v.Update, e.Name())
}

// unknownNames are those to be updated that no lock has.
func (v *Vendoring) unknownNames(all []*vendored) error {
	var faults []error
	for _, name := range v.Update {
		if name != Everything && !slices.ContainsFunc(all, func(c *vendored) bool {
			return slices.ContainsFunc(c.now.Entries, func(e remote.Entry) bool { return e.Name() == name })
		}) {
			faults = append(faults, usage.Errorf("--update: nothing is called %s; name a chart, file or repository that cmp vendor lists", name))
		}
	}
	return errors.Join(faults...)
}

// Everything updates all entries of a lock.
const Everything = "*"

// vendored is a component, and what lies beside it: before and now.
type vendored struct {
	of       *Vendoring
	checkout *checkout.Checkout
	dir      string
	shown    string

	locked   bool // there was a lock before
	was, now remote.Lock
	fetched  []remote.Fetched
	// strays are files that lay there and are in no entry.
	strays []string
}

func (c *vendored) file(name string) string { return path.Join(c.dir, name) }

// look renders the component and finds out what it asks for.
func (c *vendored) look(ctx context.Context) error {
	req := plugin.Request{Repo: c.checkout.Repo, NoRepository: c.checkout.NoRepository, Dir: c.dir, Show: c.checkout.Show, Settings: []plugin.Settings{c.of.Settings}}
	if c.dir == c.checkout.Dir {
		req.DirName = c.checkout.Name
	}
	var err error
	if c.was, c.locked, err = req.Lock(); err != nil {
		return err
	}
	if root, err := c.beside(); err == nil {
		root.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	beside := &remote.Vendored{Lock: c.was,
		Read: func(file string) ([]byte, error) { return fs.ReadFile(c.checkout.Repo, c.file(file)) },
		Show: func(file string) string { return c.checkout.Show(c.file(file)) }}
	// Without a network no permission to fetch would help.
	asked := &remote.Recorder{From: remote.Sources{Vendored: beside, Dir: c.shown, Remedy: "run cmp vendor " + c.shown}}
	if c.of.Network != nil {
		asked.From = pinned{beside, c.of.Network, c.of.updates}
	}
	req.Remote, req.Unlocked = asked, true
	if err := fetchParts(ctx, req, c.of.Base); err != nil {
		return err
	}
	c.fetched = asked.Fetched()
	for _, f := range c.fetched {
		e := remote.NewEntry(f.Ref, f.Content)
		if was, known := c.was.Has(e); known && was.Digest == e.Digest && was.Resolved == e.Resolved {
			e = was
		}
		c.now.Entries = append(c.now.Entries, e)
	}
	for _, e := range c.was.Entries {
		if _, needed := c.now.Has(e); !needed && c.of.Keep {
			c.now.Entries = append(c.now.Entries, e)
		}
	}
	if c.strays, err = c.notIn(c.was); err != nil {
		return err
	}
	if !c.of.Check {
		return nil
	}
	found := c.was.Stale(c.now, c.checkout.Show(c.file(remote.LockFile)), c.shown)
	for _, name := range c.strays {
		found = append(found, finding.Finding{Severity: finding.Error, Rule: "unused-vendored-file", File: c.checkout.Show(name),
			Message: "no entry of " + remote.LockFile + " names this file", Remedy: "delete it, or run cmp vendor " + c.shown})
	}
	return finding.Err(found)
}

// write brings the files and the lock onto the disk: files first, each under its
// name only when it is complete, then the lock, then what is no longer needed goes.
func (c *vendored) write() error {
	if len(c.now.Entries) == 0 && !c.locked {
		return c.clear()
	}
	root := c.checkout.Root
	contents := map[string][]byte{}
	for _, f := range c.fetched {
		if e, ok := c.now.Find(f.Ref); ok {
			contents[strings.TrimPrefix(e.File, remote.VendorDir+"/")] = f.Content.Data
		}
	}
	if len(contents) > 0 {
		if err := root.Mkdir(c.file(remote.VendorDir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return c.unwritten(remote.VendorDir, err)
		}
		if err := c.fill(contents); err != nil {
			return err
		}
	}
	if len(c.now.Entries) == 0 {
		if err := root.Remove(c.file(remote.LockFile)); err != nil {
			return c.unwritten(remote.LockFile, err)
		}
	} else {
		text, err := c.now.Text()
		if err != nil {
			return err
		}
		if there, err := fs.ReadFile(c.checkout.Repo, c.file(remote.LockFile)); err != nil || string(there) != string(text) {
			if err := wholefile.Replace(root, c.file(remote.LockFile), text, 0o644); err != nil {
				return c.unwritten(remote.LockFile, err)
			}
		}
	}
	return c.clear()
}

// fill writes files into what is vendored, unless they are there.
func (c *vendored) fill(contents map[string][]byte) error {
	beside, err := c.beside()
	if err != nil {
		return err
	}
	defer beside.Close()
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		if there, err := beside.ReadFile(name); err == nil && remote.Digest(there) == remote.Digest(contents[name]) {
			continue
		}
		if err := beside.MkdirAll(path.Dir(name), 0o755); err != nil {
			return c.unwritten(path.Join(remote.VendorDir, path.Dir(name)), err)
		}
		if err := wholefile.Replace(beside, name, contents[name], 0o644); err != nil {
			return c.unwritten(path.Join(remote.VendorDir, name), err)
		}
	}
	return nil
}

// unwritten says why a file of a component cannot be written or removed.
func (c *vendored) unwritten(name string, err error) error {
	return finding.Finding{Severity: finding.Error, Rule: wholefile.BadOut, File: c.checkout.Show(c.file(name)), Message: wholefile.Reason(err), Remedy: "check the permissions of the directory"}
}

// beside is the directory of what is vendored, if there is one. Below it files are
// written and removed as they come, and so neither it nor a directory in it may be a
// link: what that leads to is somebody else's.
func (c *vendored) beside() (*os.Root, error) {
	link := func(name string) error {
		return finding.Finding{Severity: finding.Error, Rule: wholefile.BadOut, File: c.checkout.Show(c.file(name)), Message: "not a directory; nothing is written or removed there", Remedy: "remove it; cmp vendor makes a directory"}
	}
	top := c.file(remote.VendorDir)
	info, err := c.checkout.Root.Lstat(top)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, link(remote.VendorDir)
	}
	root, err := c.checkout.Root.OpenRoot(top)
	if err != nil {
		return nil, c.unwritten(remote.VendorDir, err)
	}
	var faults []error
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		faults = append(faults, link(remote.VendorDir)) // it has become one just now
	}
	dirs := map[string]bool{}
	for _, l := range []remote.Lock{c.was, c.now} {
		for _, e := range l.Entries {
			for at := path.Dir(strings.TrimPrefix(e.File, remote.VendorDir+"/")); at != "."; at = path.Dir(at) {
				dirs[at] = true
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			faults = append(faults, link(path.Join(remote.VendorDir, dir)))
		}
	}
	if err := errors.Join(faults...); err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// notIn lists the files that are vendored and in no entry of a lock.
func (c *vendored) notIn(lock remote.Lock) (strays []string, err error) {
	err = fs.WalkDir(c.checkout.Repo, c.file(remote.VendorDir), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.ContainsFunc(lock.Entries, func(e remote.Entry) bool { return c.file(e.File) == p }) {
			strays = append(strays, p)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return strays, err
}

// clear removes what is vendored and in no entry.
func (c *vendored) clear() error {
	needed := map[string]bool{}
	for _, e := range c.now.Entries {
		for at := e.File; at != "."; at = path.Dir(at) {
			needed[at] = true
		}
	}
	beside, err := c.beside()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer beside.Close()
	var gone []string
	err = fs.WalkDir(beside.FS(), ".", func(p string, _ fs.DirEntry, err error) error {
		if err == nil && p != "." && !needed[path.Join(remote.VendorDir, p)] {
			gone = append(gone, p)
		}
		return err
	})
	for _, p := range slices.Backward(gone) { // what is in a directory goes before it
		err = errors.Join(err, beside.Remove(p))
	}
	if !needed[remote.VendorDir] {
		err = errors.Join(err, c.checkout.Root.Remove(c.file(remote.VendorDir)))
	}
	return err
}

// fetchParts renders a component, or both parts of one that is split: the part with
// the definitions may need more.
func fetchParts(ctx context.Context, req plugin.Request, base *knowledge.Base) error {
	d, err := req.Describe()
	if err != nil {
		return err
	}
	if d.CRDs != component.Split {
		return plugin.Fetch(ctx, req, base)
	}
	for _, part := range []crds.Mode{crds.Skip, crds.Only} {
		half := req
		half.Settings = append(slices.Clone(req.Settings), plugin.Settings{CRDs: part})
		if err := plugin.Fetch(ctx, half, base); err != nil {
			return err
		}
	}
	return nil
}

// written says what has changed.
func written(all []*vendored) string {
	var b strings.Builder
	needy := 0
	for _, c := range all {
		if len(c.now.Entries) == 0 && !c.locked && len(c.strays) == 0 {
			continue
		}
		needy++
		changes := c.now.Changes(c.was)
		fmt.Fprintf(&b, "%s: %s, %s\n", c.shown, finding.Counted(len(c.now.Entries), "thing"), changed(len(changes)+len(c.strays)))
		for _, change := range changes {
			fmt.Fprintf(&b, "  %s\n", change)
		}
		for _, name := range c.strays {
			fmt.Fprintf(&b, "  - %s (was in no entry)\n", c.checkout.Show(name))
		}
	}
	if needy == 0 {
		fmt.Fprintf(&b, "%s: no remote sources\n", finding.Counted(len(all), "component"))
	}
	return b.String()
}

func changed(n int) string {
	if n == 0 {
		return "none changed"
	}
	return fmt.Sprintf("%d changed", n)
}

// checked says that all is well.
func checked(all []*vendored) string {
	entries := 0
	for _, c := range all {
		entries += len(c.was.Entries)
	}
	return fmt.Sprintf("%s, %s: nothing is missing, changed or left over\n", finding.Counted(len(all), "component"), finding.Counted(entries, "thing"))
}

// Network is how vendor fetches: what is new to a lock, or to be updated, from its
// source and not from the cache, the same for all components; and what is to be as a
// lock says.
type Network struct {
	anew  remote.Fetcher
	again func(digest string) remote.Fetcher
}

// NewNetwork fetches by f, which knows the names of Helm's repositories; nil without one.
func NewNetwork(f *fetch.Fetcher) *Network {
	if f == nil {
		return nil
	}
	var mu sync.Mutex
	asked := map[string]remote.Fetcher{} // by digest
	return &Network{anew: &remote.Recorder{From: fetchers.WithNames(f.Anew())},
		again: func(digest string) remote.Fetcher {
			mu.Lock()
			defer mu.Unlock()
			if asked[digest] == nil {
				asked[digest] = &remote.Recorder{From: fetchers.WithNames(f.Expecting(func(remote.Ref) string { return digest }))}
			}
			return asked[digest]
		}}
}

// pinned fetches what a lock has in the version that it has.
type pinned struct {
	beside  *remote.Vendored
	network *Network
	updates func(remote.Entry) bool
}

func (p pinned) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	e, known := p.beside.Lock.Find(ref)
	if !known || p.updates(e) {
		return p.network.anew.Fetch(ctx, ref)
	}
	c, err := p.beside.Fetch(ctx, ref)
	if f := finding.Of(err); err == nil || len(f) == 1 && f[0].Rule == remote.OtherThanLocked {
		return c, err
	}
	// The file is gone, or is another: it is fetched again, and must be the same.
	same := ref
	if ref.Kind != remote.File {
		same.Version = e.Resolved
	}
	c, err = p.network.again(e.Digest).Fetch(ctx, same)
	if f := finding.Of(err); len(f) == 1 && f[0].Rule == fetch.Changed {
		f[0].Object, f[0].File, f[0].Line = ref.String(), p.beside.Show(remote.LockFile), e.Line
		f[0].Remedy = "ask its publisher why; if that is right, run cmp vendor --update=" + e.Name()
		return c, f[0]
	}
	return c, err
}
