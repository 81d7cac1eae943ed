package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/plugin"
)

// inputs are the flags that say how to render, one for each parameter of the
// plugin.
type inputs struct {
	flags    *pflag.FlagSet
	revision string
}

// addInputs puts the flags on a command.
func addInputs(cmd *cobra.Command) *inputs {
	in := &inputs{flags: cmd.Flags()}
	for _, p := range plugin.Parameters() {
		usage := strings.TrimSuffix(p.Tooltip, ".")
		if p.Default != "" && p.Item != "boolean" {
			usage += " (default: " + p.Default + ")"
		}
		switch {
		case p.Item == "boolean":
			in.flags.BoolP(p.Name, p.Short, false, usage)
		case p.Collection == "array":
			in.flags.StringSliceP(p.Name, p.Short, nil, usage)
		case p.Collection == "map":
			in.flags.StringArrayP(p.Name, p.Short, nil, usage+"; as key=value, any number of times")
		default:
			in.flags.StringP(p.Name, p.Short, "", usage)
		}
	}
	in.flags.StringVar(&in.revision, "revision", "", "Commit that templates see as .Release.Revision")
	return in
}

// settings reads the flags that were given.
func (in *inputs) settings() (plugin.Settings, error) {
	s := plugin.Settings{Revision: in.revision}
	s.Values.Read = os.ReadFile
	var faults []error
	for _, p := range plugin.Parameters() {
		flag := in.flags.Lookup(p.Name)
		if !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if err := p.Set(&s, values); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return s, usageError{errors.Join(faults...)}
	}
	return s, nil
}

// checkout is a component directory on disk, in the repository around it.
type checkout struct {
	root *os.Root
	repo fs.FS
	dir  string // of the component, relative to the repository
	base string // the repository, absolute
}

// openCheckout finds the repository around a directory: the nearest one with a
// .git, or else the whole file system, since on the user's own machine there
// is nothing to protect.
func openCheckout(dir string) (*checkout, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		abs = resolved
	}
	base := gitRoot(abs)
	if base == "" {
		base = filepath.VolumeName(abs) + string(filepath.Separator)
	}
	return openCheckoutAt(base, abs)
}

func openCheckoutAt(base, abs string) (*checkout, error) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(base, abs)
	if err != nil {
		return nil, err
	}
	return &checkout{root: root, repo: root.FS(), dir: filepath.ToSlash(rel), base: base}, nil
}

func (c *checkout) close() { c.root.Close() }

// gitRoot returns the nearest directory at or above dir that holds .git.
func gitRoot(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// prefix is how paths of the repository that lie below the working directory
// begin; empty when the two are the same, or the one is not inside the other.
func (c *checkout) prefix() string {
	rel, err := filepath.Rel(c.base, workingDir())
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel) + "/"
}

func workingDir() string {
	wd, err := os.Getwd()
	if err != nil {
		return "."
	}
	if resolved, err := filepath.EvalSymlinks(wd); err == nil {
		return resolved
	}
	return wd
}

// show turns the path of a file in the repository into one that is relative to
// the working directory. Names that are no such path, like those of files that
// the user typed, stay as they are.
func (c *checkout) show(file string) string {
	if prefix := c.prefix(); prefix != "" && strings.HasPrefix(file, prefix) {
		return file[len(prefix):]
	}
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	if _, err := fs.Stat(c.repo, file); err != nil {
		return file
	}
	rel, err := filepath.Rel(workingDir(), filepath.Join(c.base, filepath.FromSlash(file)))
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// relate rewrites the paths in findings to be relative to the working
// directory.
func (c *checkout) relate(all []finding.Finding) []finding.Finding {
	related := make([]finding.Finding, len(all))
	for i, f := range all {
		f.File = c.show(f.File)
		if prefix := c.prefix(); prefix != "" {
			f.Message = strings.ReplaceAll(f.Message, prefix, "")
			f.Remedy = strings.ReplaceAll(f.Remedy, prefix, "")
		}
		related[i] = f
	}
	return related
}

// relateError does the same for an error.
func (c *checkout) relateError(err error) error {
	if err == nil {
		return nil
	}
	var faults []error
	for _, f := range c.relate(finding.Of(err)) {
		faults = append(faults, f)
	}
	return errors.Join(faults...)
}

// generate renders the component in dir with the given flags.
func (in *inputs) generate(cmd *cobra.Command, dir string) (plugin.Result, *checkout, error) {
	settings, err := in.settings()
	if err != nil {
		return plugin.Result{}, nil, err
	}
	c, err := openCheckout(dir)
	if err != nil {
		return plugin.Result{}, nil, fmt.Errorf("%s: %w", dir, err)
	}
	req := plugin.Request{Repo: c.repo, Dir: c.dir, Settings: []plugin.Settings{settings}}
	res, err := plugin.Generate(cmd.Context(), req, knowledgeBase())
	if err != nil {
		defer c.close()
		return plugin.Result{}, nil, c.relateError(err)
	}
	res.Findings = c.relate(res.Findings)
	return res, c, nil
}
