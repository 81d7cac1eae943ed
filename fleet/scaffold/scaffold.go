// Package scaffold generates component.yaml from the content of a directory and its
// fleet.
package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/children"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/vfs"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/input"
)

// Draft is the set of component.yaml files to write.
type Draft struct {
	*checkout.Checkout
	kinds    *knowledge.Base
	found    []*undescribed
	findings []finding.Finding
	// there are existing files, which are kept.
	there []string
}

// look inspects the directories.
func (b *Draft) look(ctx context.Context, dirs []string, force bool) error {
	var faults []error
	for _, typed := range dirs {
		dir, err := b.Rel(typed)
		if err != nil {
			return err
		}
		f := &undescribed{dir: dir, file: filepath.ToSlash(filepath.Join(typed, component.File))}
		info, err := os.Lstat(filepath.Join(b.Base, filepath.FromSlash(dir), component.File))
		switch {
		case err == nil && !info.Mode().IsRegular():
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.NotWritten, File: f.file,
				Message: "is a symlink, not a regular file", Remedy: "remove it first"})
			continue
		case err == nil && !force:
			b.there = append(b.there, f.file)
			continue
		case err == nil:
			if f.draft.Existing, err = fs.ReadFile(b.Repo, path.Join(dir, component.File)); err != nil {
				faults = append(faults, plugin.Unreadable(f.file, err))
				continue
			}
		}
		if err := b.describe(ctx, f); err != nil {
			//lint:ignore errorlint a finding among others does not excuse the others
			if skipped, ok := err.(finding.Finding); ok && skipped.Rule == render.NothingToRender && len(dirs) > 1 {
				skipped.Severity = finding.Note // a pattern may match such directories
				b.findings = append(b.findings, skipped)
				continue
			}
			faults = append(faults, err)
			continue
		}
		b.found = append(b.found, f)
	}
	return errors.Join(faults...)
}

// describe inspects a directory.
func (b *Draft) describe(ctx context.Context, f *undescribed) error {
	kind, err := render.Detect(b.Repo, f.dir)
	if err != nil {
		return err
	}
	shown := filepath.ToSlash(filepath.Dir(f.file))
	if kind == "" {
		return finding.Finding{Severity: finding.Error, Rule: render.NothingToRender, File: shown, Message: "nothing to render in this directory",
			Remedy: "name a directory with a chart, a kustomization, templates or manifests"}
	}
	if kind == render.Helm && b.library(f.dir) {
		return finding.Finding{Severity: finding.Error, Rule: render.NothingToRender, File: shown,
			Message: "a library chart renders nothing", Remedy: "name a chart that depends on it"}
	}
	held := locate.Below(b.Repo, f.dir)
	if within := append(held.Described, held.Others...); kind != render.Helm && len(within) > 0 {
		return finding.Finding{Severity: finding.Error, Rule: "folder-of-components", File: shown,
			Message: "it holds components itself, such as " + b.Show(slices.Min(within)),
			Remedy:  "run cmp init --recursive " + shown}
	}
	f.kind = kind
	f.draft.Schema = b.schema(f.dir)
	f.draft.StepWhy = "its place in the rollout, which a fleet with a profile decides"
	b.chart(f)
	f.names = b.namesFor(f)
	name := f.names[0]
	f.draft.Name = name
	repo := vfs.Overlay{FS: b.Repo, Files: map[string]string{}}
	if f.draft.Existing != nil {
		said, err := plugin.Request{Repo: b.Repo, NoRepository: b.NoRepository, Dir: f.dir, Show: b.Show}.Describe()
		if err != nil {
			return err
		}
		f.says(said)
	}
	req := plugin.Request{Repo: repo, NoRepository: b.NoRepository, Dir: f.dir, DirName: name, Show: b.Show,
		App: plugin.App{Name: name, Namespace: placeholderNamespace}, Children: children.Children{}}
	res, err := plugin.Generate(ctx, req, b.kinds)
	if err != nil {
		res, _, err = fleet.RenderWithoutMissing(ctx, req, b.kinds, err)
	}
	if err != nil {
		f.draft.NamespaceWhy = "it could not be rendered, so its namespace is unknown"
		for _, fault := range finding.Of(err) {
			fault.Severity = finding.Warning
			b.findings = append(b.findings, fault)
		}
		return nil
	}
	f.draft.Namespace, f.draft.NamespaceWhy = namespaceOf(res.Objects)
	ofCRDs, rest := crds.Split(res.Objects)
	if len(ofCRDs) > 0 && len(rest) > 0 {
		f.draft.CRDs = component.Split
		f.draft.CRDsWhy = fmt.Sprintf("The component has %s and %s. With split, the CRDs become an Application of their own, "+
			"which is deployed first and kept when the other one is deleted.",
			finding.Counted(len(ofCRDs), "CRD"), finding.Counted(len(rest), "other object"))
	}
	return nil
}

// schema returns the path from a directory to the JSON Schema: the nearest one in a
// parent directory or its docs directory; empty if there is none, since editors
// report a wrong path.
func (b *Draft) schema(dir string) string {
	for d := dir; ; d = path.Dir(d) {
		for _, file := range []string{path.Join(d, schemaFile), path.Join(d, "docs", schemaFile)} {
			if _, err := fs.Stat(b.Repo, file); err != nil {
				continue
			}
			if rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(file)); err == nil {
				return filepath.ToSlash(rel)
			}
		}
		if d == "." || d == "/" {
			return ""
		}
	}
}

// check reads the generated files like all other commands.
func (b *Draft) check() error {
	var faults []error
	for _, f := range b.found {
		repo := vfs.Overlay{FS: b.Repo, Files: map[string]string{path.Join(f.dir, component.File): f.draft.Text()}}
		_, err := plugin.Request{Repo: repo, NoRepository: b.NoRepository, Dir: f.dir, Show: b.Show}.Describe()
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// Write writes all files or none.
func (b *Draft) Write() error {
	var all []wholefile.File
	for _, f := range b.found {
		all = append(all, wholefile.File{Name: b.path(f), Shown: f.file, Data: []byte(f.draft.Text())})
	}
	return wholefile.WriteAll(all)
}

// path returns the path of a component's component.yaml.
func (b *Draft) path(f *undescribed) string {
	return filepath.Join(b.Base, filepath.FromSlash(f.dir), component.File)
}

// Text reports what was written, or returns the files.
func (b *Draft) Text(all bool) string {
	var out strings.Builder
	for i, f := range b.found {
		if all {
			if len(b.found) > 1 {
				if i > 0 {
					out.WriteString("---\n")
				}
				fmt.Fprintf(&out, "# %s\n", finding.Sanitize(f.file))
			}
			out.WriteString(f.draft.Text())
			continue
		}
		step := "no step"
		if f.draft.Step != "" {
			step = "step " + f.draft.Step
		}
		fmt.Fprintf(&out, "%s: %s, %s, %s\n", finding.Sanitize(f.file), f.draft.Name, f.summary, step)
	}
	if !all {
		fmt.Fprintf(&out, "%s written\n", finding.Counted(len(b.found), "file"))
	}
	return out.String()
}

// Options say which directories of the arguments get a component.yaml.
type Options struct {
	// Recursive takes the components below the directories.
	Recursive bool
	// Force also takes those that have a component.yaml, for its missing keys.
	Force bool
}

// Begin drafts a component.yaml for each directory that the arguments name, in one
// repository, which the caller closes. The findings hold also if there is an error.
func Begin(ctx context.Context, base *knowledge.Base, args []string, opt Options) (*Draft, []finding.Finding, error) {
	dirs, err := directories(args)
	if err != nil {
		return nil, nil, err
	}
	c, err := checkout.Open(dirs[0])
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dirs[0], err)
	}
	b, found, err := begin(ctx, c, base, dirs, opt)
	if err != nil {
		c.Close()
	}
	return b, found, err
}

func begin(ctx context.Context, c *checkout.Checkout, base *knowledge.Base, dirs []string, opt Options) (*Draft, []finding.Finding, error) {
	var left []finding.Finding
	if opt.Recursive {
		var err error
		if dirs, left, err = below(c, dirs, opt.Force); err != nil {
			return nil, nil, err
		}
	}
	b := &Draft{Checkout: c, kinds: base}
	if err := b.look(ctx, dirs, opt.Force); err != nil {
		return nil, left, err
	}
	b.tellApart(ctx)
	b.environments()
	b.place(ctx)
	if err := b.check(); err != nil {
		return nil, left, err
	}
	found := slices.Concat(left, b.findings, existingFindings(b.there))
	if len(b.found) == 0 {
		return nil, found, errors.New("there is no component.yaml to write; name directories without one, or use --force")
	}
	return b, found, nil
}

// directories returns the directories for arguments, which may be patterns. Files
// that match a pattern are ignored.
func directories(args []string) ([]string, error) {
	var all []string
	for _, arg := range args {
		if arg == "" {
			return nil, finding.Usage(`the name of the directory is empty; name the directory of the component, or "." for this one`)
		}
		found, err := filepath.Glob(arg)
		if err != nil || !strings.ContainsAny(arg, "*?[") {
			found = []string{arg}
		}
		for _, dir := range found {
			if info, err := os.Stat(dir); err != nil {
				return nil, fmt.Errorf("%s: no such directory; fix: check the path", dir)
			} else if info.IsDir() && !slices.Contains(all, dir) {
				all = append(all, dir)
			} else if !info.IsDir() && len(found) == 1 && len(args) == 1 {
				return nil, fmt.Errorf("%s: not a directory; fix: name the directory of the component", dir)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no directory found; fix: check the path", strings.Join(args, " "))
	}
	return all, nil
}

// below returns the components below directories that have no component.yaml; with force,
// the others, too. A directory without any is returned itself.
// The findings are about manifests that belong to none.
func below(c *checkout.Checkout, dirs []string, force bool) (all []string, left []finding.Finding, err error) {
	for _, typed := range dirs {
		dir, err := c.Rel(typed)
		if err != nil {
			return nil, nil, err
		}
		held := locate.Below(c.Repo, dir)
		if len(held.Described)+len(held.Others) == 0 {
			all = append(all, typed)
			continue
		}
		left = append(left, held.Outside(c.Repo, dir, c.Show)...)
		others := held.Others
		if force {
			others = append(others, held.Described...)
			slices.Sort(others)
		}
		for _, p := range others {
			all = append(all, filepath.Join(typed, filepath.FromSlash(strings.TrimPrefix(p, input.Prefix(dir)))))
		}
	}
	return all, left, nil
}

// existingFindings reports existing files: each of a few, or their number.
func existingFindings(files []string) []finding.Finding {
	const few = 3
	var all []finding.Finding
	for n, file := range files {
		f := finding.Finding{Severity: finding.Note, Rule: finding.NotWritten, File: file,
			Message: "it already exists and was not changed", Remedy: "use --force to add the missing keys"}
		if n == few-1 && len(files) > few {
			f.Message = fmt.Sprintf("the file exists, as do %d others, and is kept", len(files)-few)
			return append(all, f)
		}
		all = append(all, f)
	}
	return all
}

// undescribed is a component without a component.yaml.
type undescribed struct {
	// dir is its directory in the repository, file its component.yaml in messages.
	dir, file string
	draft     component.Draft
	kind      render.Kind
	summary   string
	// names are possible names, in order of preference.
	names []string
	// base is the directory that it is an overlay of, for an environment; both may be
	// empty.
	base, environment string
	// said is the content of an existing component.yaml.
	said component.Description
}

// says uses the content of an existing component.yaml.
func (f *undescribed) says(said component.Description) {
	if said.Name != "" {
		f.draft.Name, f.names = said.Name, []string{said.Name}
	}
	if said.Step().Set {
		f.draft.StepKey, f.draft.Step = said.StepKey(), said.Step().Text
	}
	f.said = said
}

// placeholderNamespace is a placeholder namespace: objects in it use the destination of the
// Application.
const placeholderNamespace = "ladder-init-nowhere"
