package flags

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/ladder-cmp/ladder/fleet/children"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/input"
)

// Generate renders the component in dir.
func (in *Rendering) Generate(dir string) (plugin.Result, error) {
	opt, err := in.Options()
	if err != nil {
		return plugin.Result{}, err
	}
	return opt.Generate(in.Cmd.Context(), dir)
}

// Generate renders the component in dir. The options take precedence over the defaults.
func (o Options) Generate(ctx context.Context, dir string, defaults ...plugin.Settings) (plugin.Result, error) {
	return With(ctx, o, dir, plugin.Generate, defaults...)
}

// With does something with the request for the component in dir.
func With[T any](ctx context.Context, o Options, dir string, do func(context.Context, plugin.Request, *knowledge.Base) (T, error),
	defaults ...plugin.Settings) (result T, err error) {
	req, base, done, err := o.Open(dir, defaults...)
	if err != nil {
		return result, err
	}
	defer done()
	result, err = do(ctx, req, base)
	return result, o.Fault(req, err)
}

// Annotate orders the manifests of a file, or of standard input ("-"). The options take
// precedence over the defaults.
func (o Options) Annotate(stdin io.Reader, file string, defaults ...plugin.Settings) (plugin.Result, error) {
	if err := o.rejectRendering(file); err != nil {
		return plugin.Result{}, err
	}
	objs, err := checkout.ReadManifests(stdin, file)
	if err != nil {
		return plugin.Result{}, err
	}
	base, err := o.Base()
	if err != nil {
		return plugin.Result{}, err
	}
	if base, err = KnowledgeAt(ladderDir(file), base); err != nil {
		return plugin.Result{}, err
	}
	return plugin.Annotate(objs, base, children.Children{}, append(defaults, o.Settings)...)
}

// rejectRendering rejects flags and parameters that have no effect on manifests, because another
// tool has rendered them.
func (o Options) rejectRendering(file string) error {
	var faults []error
	for _, name := range o.Flags {
		isParameter := slices.ContainsFunc(plugin.Parameters(), func(p plugin.Parameter) bool { return p.Name == name })
		if isParameter && !slices.Contains(Ordering, name) || slices.Contains(renderingFlags, name) {
			faults = append(faults, finding.Usagef("%s has no effect on manifests, which another tool rendered; "+
				"remove it, or name the directory of a component instead of %s", name, file))
		}
	}
	return errors.Join(faults...)
}

// renderingFlags are flags for a rendering that are not parameters.
var renderingFlags = []string{"revision", "seed-file", "application"}

// ladderDir returns the directory whose ladder.yaml applies to manifests: that of their
// file, or the working directory for standard input or a pipe.
func ladderDir(file string) string {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return "."
	}
	return filepath.Dir(file)
}

// KnowledgeAt extends knowledge by every ladder.yaml in a directory and above it in its
// repository, as for a component.
func KnowledgeAt(dir string, base *knowledge.Base) (*knowledge.Base, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		message := "no such directory"
		if err == nil {
			message = "not a directory"
		}
		return nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: dir, Message: message,
			Remedy: "name the directory of a component with --dir"}
	}
	c, err := checkout.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer c.Close()
	return plugin.Request{Repo: c.Repo, Dir: c.Dir, Show: c.Show}.Knowledge(base)
}

// Open opens the component in dir until done is called, and returns the request of the
// plugin for it. The options take precedence over the defaults.
func (o Options) Open(dir string, defaults ...plugin.Settings) (req plugin.Request, base *knowledge.Base, done func(), err error) {
	if dir == "" { // probably an unset variable in a script
		return req, nil, nil, errNoName
	}
	c, err := checkout.Open(dir)
	if err != nil {
		return req, nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	req, base, err = o.Request(c, defaults...)
	if err != nil {
		c.Close()
		return req, nil, nil, err
	}
	return req, base, c.Close, nil
}

// similarFiles returns existing files with a name similar to that of a missing file, as
// the user would name them.
func similarFiles(c *checkout.Checkout, name string) []string {
	near := []string{c.Dir}
	if missing, err := c.Rel(filepath.Dir(name)); err == nil {
		near = append(near, missing)
	}
	var parents, all []string
	if !c.NoRepository {
		parents = input.Parents(c.Dir)
	}
	for _, file := range input.Similar(c.Repo, name, near, parents...) {
		all = append(all, c.Show(file))
	}
	return all
}

var errNoName = finding.Usage(`empty argument; name the directory of the component, or "." for the working directory`)

// Request returns the request of the plugin for the component of a checkout.
func (o Options) Request(c *checkout.Checkout, defaults ...plugin.Settings) (plugin.Request, *knowledge.Base, error) {
	settings := o.Settings
	settings.Values.Read, settings.Values.From = c.ReadValues, "the working directory"
	settings.Values.Similar = func(name string) []string { return similarFiles(c, name) }
	base, err := o.Base()
	if err != nil {
		return plugin.Request{}, nil, err
	}
	from, err := o.Remote.Remote()
	if err != nil {
		return plugin.Request{}, nil, err
	}
	random, err := o.seed.random()
	if err != nil {
		return plugin.Request{}, nil, err
	}
	req := plugin.Request{Remote: from, Random: random, Repo: c.Repo, NoRepository: c.NoRepository, Dir: c.Dir, DirName: c.Name,
		Show: c.Show, Settings: append(defaults, settings), OwnSettings: true}
	if req.Children, err = o.children(); err != nil {
		return req, nil, err
	}
	return req, base, nil
}
