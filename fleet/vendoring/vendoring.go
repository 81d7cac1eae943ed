// Package vendoring writes the remote sources of components into their directories, with a lock
// file, so that rendering needs no network.
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

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
)

// Options say what to vendor, and how.
type Options struct {
	// Check writes nothing: Run returns an error for each entry that is missing, changed or unused.
	Check bool
	// Keep keeps entries that the components do not need with these settings.
	Keep bool
	// Update are the names of the entries to resolve again, or Everything.
	Update []string
	// ExactDir means that the directory is the component, whatever it contains.
	ExactDir bool
	Settings plugin.Settings
	Base     *knowledge.Base
	Network  *Network // nil with Check
}

// Run vendors for the components in directories. It inspects all of them before it
// writes anything. text lists the changes; warnings are also returned with an
// error.
func (v *Options) Run(ctx context.Context, dirs []string) (text string, warnings []finding.Finding, err error) {
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
				warnings = append(warnings, finding.Finding{Severity: finding.Warning, Rule: remote.Source, File: c.shown,
					Object: f.Ref.String(), Message: f.Content.Warning,
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
func (v *Options) open(dir string) ([]*vendored, func(), error) {
	if dir == "" {
		return nil, nil, finding.Usage(`the name of the directory is empty; name the directory of the component, or "." for this one`)
	}
	if err := checkout.CheckDir(dir); err != nil {
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

// components returns the components in a directory: those with a component.yaml,
// and charts and kustomizations without one that are not part of others.
func (v *Options) components(c *checkout.Checkout) ([]string, error) {
	found, err := fleet.Source{Repo: c.Repo, Dirs: []string{c.Dir}, Show: c.Show}.Directories()
	if v.ExactDir {
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

// updates reports whether an entry must be resolved again.
func (v *Options) updates(e remote.Entry) bool {
	return slices.Contains(v.Update, Everything) || slices.Contains(v.Update, e.Name())
}

// unknownNames returns the names to update that are in no lock.
func (v *Options) unknownNames(all []*vendored) error {
	var faults []error
	for _, name := range v.Update {
		if name != Everything && !slices.ContainsFunc(all, func(c *vendored) bool {
			return slices.ContainsFunc(c.now.Entries, func(e remote.Entry) bool { return e.Name() == name })
		}) {
			faults = append(faults, finding.Usagef("--update: no source is called %s; name a chart, file or repository that cmp vendor lists", name))
		}
	}
	return errors.Join(faults...)
}

// Everything updates all entries of a lock.
const Everything = "*"

// vendored is a component with its vendored files, before and now.
type vendored struct {
	of       *Options
	checkout *checkout.Checkout
	dir      string
	shown    string

	locked   bool // a lock existed before
	was, now remote.Lock
	fetched  []remote.Fetched
	// unlocked are vendored files without an entry.
	unlocked []string
}

func (c *vendored) file(name string) string { return path.Join(c.dir, name) }

// look renders the component to find its sources.
func (c *vendored) look(ctx context.Context) error {
	req := plugin.Request{Repo: c.checkout.Repo, NoRepository: c.checkout.NoRepository, Dir: c.dir, Show: c.checkout.Show,
		Settings: []plugin.Settings{c.of.Settings}}
	if c.dir == c.checkout.Dir {
		req.DirName = c.checkout.Name
	}
	var err error
	if c.was, c.locked, err = req.Lock(); err != nil {
		return err
	}
	if root, err := c.openVendorDir(); err == nil {
		root.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	locked := &remote.Vendored{Lock: c.was,
		Read: func(file string) ([]byte, error) { return fs.ReadFile(c.checkout.Repo, c.file(file)) },
		Show: func(file string) string { return c.checkout.Show(c.file(file)) }}
	// Without a network, permission to fetch would not help.
	recorder := &remote.Recorder{From: remote.Sources{Vendored: locked, Dir: c.shown, Remedy: "run cmp vendor " + c.shown}}
	if c.of.Network != nil {
		recorder.From = pinned{locked, c.of.Network, c.of.updates}
	}
	req.Remote, req.IgnoreVendored = recorder, true
	if err := fetchParts(ctx, req, c.of.Base); err != nil {
		return err
	}
	c.fetched = recorder.Fetched()
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
	if c.unlocked, err = c.notIn(c.was); err != nil {
		return err
	}
	if !c.of.Check {
		return nil
	}
	found := c.was.Stale(c.now, c.checkout.Show(c.file(remote.LockFile)), c.shown)
	for _, name := range c.unlocked {
		found = append(found, finding.Finding{Severity: finding.Error, Rule: "bad-lock", File: c.checkout.Show(name),
			Message: "no entry of " + remote.LockFile + " names this file", Remedy: "delete it, or run cmp vendor " + c.shown})
	}
	return finding.Err(found)
}

// write writes files and lock: first the files, each atomically, then the lock;
// then it removes files that are no longer needed.
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
			return c.writeFault(remote.VendorDir, err)
		}
		if err := c.fill(contents); err != nil {
			return err
		}
	}
	if len(c.now.Entries) == 0 {
		if err := root.Remove(c.file(remote.LockFile)); err != nil {
			return c.writeFault(remote.LockFile, err)
		}
	} else {
		text, err := c.now.Text()
		if err != nil {
			return err
		}
		if there, err := fs.ReadFile(c.checkout.Repo, c.file(remote.LockFile)); err != nil || string(there) != string(text) {
			if err := wholefile.Replace(root, c.file(remote.LockFile), text, 0o644); err != nil {
				return c.writeFault(remote.LockFile, err)
			}
		}
	}
	return c.clear()
}

// fill writes missing vendored files.
func (c *vendored) fill(contents map[string][]byte) error {
	dir, err := c.openVendorDir()
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		if there, err := dir.ReadFile(name); err == nil && remote.Digest(there) == remote.Digest(contents[name]) {
			continue
		}
		if err := dir.MkdirAll(path.Dir(name), 0o755); err != nil {
			return c.writeFault(path.Join(remote.VendorDir, path.Dir(name)), err)
		}
		if err := wholefile.Replace(dir, name, contents[name], 0o644); err != nil {
			return c.writeFault(path.Join(remote.VendorDir, name), err)
		}
	}
	return nil
}

// writeFault says why a file of a component cannot be written or removed.
func (c *vendored) writeFault(name string, err error) error {
	return finding.Finding{Severity: finding.Error, Rule: finding.NotWritten, File: c.checkout.Show(c.file(name)),
		Message: wholefile.Reason(err), Remedy: "check the permissions of the directory"}
}

// openVendorDir opens the directory of vendored files, if it exists. Files below it are
// written and removed, so neither it nor its subdirectories may be symlinks, whose
// targets belong to others.
func (c *vendored) openVendorDir() (*os.Root, error) {
	link := func(name string) error {
		return finding.Finding{Severity: finding.Error, Rule: finding.NotWritten, File: c.checkout.Show(c.file(name)),
			Message: "not a directory; nothing is written or removed there", Remedy: "remove it; cmp vendor makes a directory"}
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
		return nil, c.writeFault(remote.VendorDir, err)
	}
	var faults []error
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		faults = append(faults, link(remote.VendorDir)) // it was replaced meanwhile
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

// notIn lists vendored files without an entry in a lock.
func (c *vendored) notIn(lock remote.Lock) (unlocked []string, err error) {
	err = fs.WalkDir(c.checkout.Repo, c.file(remote.VendorDir), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.ContainsFunc(lock.Entries, func(e remote.Entry) bool { return c.file(e.File) == p }) {
			unlocked = append(unlocked, p)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return unlocked, err
}

// clear removes vendored files without an entry.
func (c *vendored) clear() error {
	needed := map[string]bool{}
	for _, e := range c.now.Entries {
		for at := e.File; at != "."; at = path.Dir(at) {
			needed[at] = true
		}
	}
	dir, err := c.openVendorDir()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	var gone []string
	err = fs.WalkDir(dir.FS(), ".", func(p string, _ fs.DirEntry, err error) error {
		if err == nil && p != "." && !needed[path.Join(remote.VendorDir, p)] {
			gone = append(gone, p)
		}
		return err
	})
	for _, p := range slices.Backward(gone) { // files before their directory
		err = errors.Join(err, dir.Remove(p))
	}
	if !needed[remote.VendorDir] {
		err = errors.Join(err, c.checkout.Root.Remove(c.file(remote.VendorDir)))
	}
	return err
}

// fetchParts renders a component, or both parts of a split one: the part with the
// CRDs may need more sources.
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

// written lists the changes.
func written(all []*vendored) string {
	var b strings.Builder
	needy := 0
	for _, c := range all {
		if len(c.now.Entries) == 0 && !c.locked && len(c.unlocked) == 0 {
			continue
		}
		needy++
		changes := c.now.Changes(c.was)
		fmt.Fprintf(&b, "%s: %s, %s\n", c.shown, finding.Counted(len(c.now.Entries), "source"), changed(len(changes)+len(c.unlocked)))
		for _, change := range changes {
			fmt.Fprintf(&b, "  %s\n", change)
		}
		for _, name := range c.unlocked {
			fmt.Fprintf(&b, "  - %s (not in ladder.lock)\n", c.checkout.Show(name))
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

// checked reports that everything is up to date.
func checked(all []*vendored) string {
	entries := 0
	for _, c := range all {
		entries += len(c.was.Entries)
	}
	return fmt.Sprintf("%s, %s: nothing is missing, changed or unused\n",
		finding.Counted(len(all), "component"), finding.Counted(entries, "source"))
}

// Network is how new and updated entries are fetched: the same for all components.
type Network struct {
	// Anew fetches from the source, ignoring caches.
	Anew remote.Fetcher
	// Again returns what fetches a locked entry, and accepts only content with its digest.
	Again func(digest string) remote.Fetcher
}

// pinned fetches sources in their locked versions.
type pinned struct {
	locked  *remote.Vendored
	network *Network
	updates func(remote.Entry) bool
}

func (p pinned) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	e, known := p.locked.Lock.Find(ref)
	if !known || p.updates(e) {
		return p.network.Anew.Fetch(ctx, ref)
	}
	c, err := p.locked.Fetch(ctx, ref)
	if f := finding.Of(err); err == nil || len(f) == 1 && f[0].Rule == remote.LockMismatch {
		return c, err
	}
	// The file is missing or differs: it is fetched again, and must match the lock.
	same := ref
	if ref.Kind != remote.File {
		same.Version = e.Resolved
	}
	c, err = p.network.Again(e.Digest).Fetch(ctx, same)
	if f := finding.Of(err); len(f) == 1 && f[0].Rule == fetch.Changed {
		f[0].Object, f[0].File, f[0].Line = ref.String(), p.locked.Show(remote.LockFile), e.Line
		f[0].Remedy = "report this to the publisher of the chart why; if that is right, run cmp vendor --update=" + e.Name()
		return c, f[0]
	}
	return c, err
}
