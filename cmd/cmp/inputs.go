package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// inputs are the flags that say how to render, one for each parameter of the
// plugin.
type inputs struct {
	flags    *pflag.FlagSet
	revision string
	ladder   *string
	remote   *fetching
}

// addInputs puts the flags on a command: all of them, or only those that are
// named.
func addInputs(cmd *cobra.Command, only ...string) *inputs {
	in := &inputs{flags: cmd.Flags()}
	for _, p := range plugin.Parameters() {
		if only != nil && !slices.Contains(only, p.Name) {
			continue
		}
		usage := strings.TrimSuffix(p.Tooltip, ".")
		if p.Flag != "" {
			usage = p.Flag
		}
		if p.Default != "" && p.Item != "boolean" {
			usage += " (default: " + p.Default + ")"
		}
		switch {
		case p.Item == "boolean":
			in.flags.BoolP(p.Name, p.Short, p.Default == "true", usage)
		case p.YAML && p.Collection == "array":
			in.flags.StringArrayP(p.Name, p.Short, nil, usage+"; any number of times")
		case p.Collection == "array":
			in.flags.StringSliceP(p.Name, p.Short, nil, usage)
		case p.Collection == "map":
			in.flags.StringArrayP(p.Name, p.Short, nil, usage+"; as key=value, any number of times")
		default:
			in.flags.StringP(p.Name, p.Short, "", usage)
		}
		if len(p.Choices) > 0 {
			choices(cmd, p.Name, p.Choices...)
		}
	}
	in.ladder = ladderFlag(in.flags)
	if only != nil {
		return in
	}
	in.remote = remoteFlags(in.flags, userCache())
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
		if flag == nil || !flag.Changed {
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

// blamed marks an error as one of the command line if a flag cannot be what it is,
// whatever is rendered with it.
func (in *inputs) blamed(err error) error {
	if err == nil {
		return nil
	}
	settings, wrong := in.settings()
	if wrong != nil {
		return err
	}
	misspelt := map[string]bool{}
	for _, f := range finding.Of(settings.Values.Misspelt()) {
		misspelt[f.Error()] = true
	}
	if slices.ContainsFunc(finding.Of(err), func(f finding.Finding) bool {
		return misspelt[f.Error()] || f.Rule == "bad-name" && settings.Name != ""
	}) {
		return usageError{err}
	}
	return err
}

// asked reports whether a fault is one of what the flags name: a values file that
// is not there or no such file, or values for what takes none.
func (in *inputs) asked(f finding.Finding) bool {
	settings, err := in.settings()
	if err != nil {
		return false
	}
	own := settings.Values
	return f.Rule == "useless-values" && !own.Empty() || f.File != "" && (slices.Contains(own.Files, f.File) ||
		slices.ContainsFunc(own.SetFile, func(expr string) bool { return strings.HasSuffix(expr, "="+f.File) }))
}

// checkout is a component directory on disk, in the repository around it.
type checkout struct {
	root *os.Root
	repo fs.FS
	dir  string // of the component, relative to the repository
	base string // the repository, absolute
	name string // of the directory, which may be the repository itself
	// none means that there is none, and base is all of the file system.
	none bool
	// typed is how the user called the component.
	typed string
	// revision is what the user called the commit that repo is of; empty means
	// the work tree.
	revision string
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
	c, err := openCheckoutAt(base, abs)
	if err != nil {
		return nil, err
	}
	c.typed, c.none = dir, gitRoot(abs) == ""
	return c, nil
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
	return &checkout{root: root, repo: regularFS{root.FS()}, dir: filepath.ToSlash(rel), base: base, name: filepath.Base(abs)}, nil
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

// show names a path of the repository as the user would, who typed dir: below
// it by what they typed, elsewhere relative to the working directory, or in
// full if they typed a full path.
func (c *checkout) show(path string) string {
	below, err := filepath.Rel(filepath.FromSlash(c.dir), filepath.FromSlash(path))
	if err == nil && filepath.IsLocal(below) {
		return filepath.ToSlash(filepath.Join(c.typed, below))
	}
	full := filepath.Join(c.base, filepath.FromSlash(path))
	if rel, err := filepath.Rel(workingDir(), full); err == nil && !filepath.IsAbs(c.typed) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(full)
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

// ladderBeside is what is known about kinds in a directory: what is built in,
// the file of --ladder, and every ladder.yaml in the directory and above it in
// its repository, as for a component.
func (in *inputs) ladderBeside(dir string) (*knowledge.Base, error) {
	base, err := knowledgeBase(*in.ladder)
	if err != nil {
		return nil, err
	}
	c, err := openCheckout(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer c.close()
	return plugin.Request{Repo: c.repo, Dir: c.dir, Show: c.show}.Knowledge(base)
}

// generate renders the component in dir with the given flags, which win over
// the given defaults.
func (in *inputs) generate(cmd *cobra.Command, dir string, defaults ...plugin.Settings) (plugin.Result, error) {
	req, base, done, err := in.request(dir, defaults...)
	if err != nil {
		return plugin.Result{}, err
	}
	defer done()
	res, err := plugin.Generate(cmd.Context(), req, base)
	return res, in.blamed(in.notOne(cmd, req, err))
}

// request opens the component in dir, for as long as done is not called, and
// says with the flags how it is to be rendered. Flags win over the defaults.
func (in *inputs) request(dir string, defaults ...plugin.Settings) (req plugin.Request, base *knowledge.Base, done func(), err error) {
	if dir == "" { // a variable of a script that is not set, most likely
		return req, nil, nil, errNoName
	}
	c, err := openCheckout(dir)
	if err != nil {
		return req, nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	req, base, err = in.requestFor(c, defaults...)
	if err != nil {
		c.close()
		return req, nil, nil, err
	}
	return req, base, c.close, nil
}

var errNoName = usageError{errors.New(`the name of the directory is empty; name the directory of the component, or "." for this one`)}

// requestFor says with the flags how the component of a checkout is to be
// rendered.
func (in *inputs) requestFor(c *checkout, defaults ...plugin.Settings) (plugin.Request, *knowledge.Base, error) {
	settings, err := in.settings()
	if err != nil {
		return plugin.Request{}, nil, err
	}
	settings.Values.Read = c.readValues
	base, err := knowledgeBase(*in.ladder)
	if err != nil {
		return plugin.Request{}, nil, err
	}
	from, err := in.remote.remote(nil, nil)
	if err != nil {
		return plugin.Request{}, nil, err
	}
	return plugin.Request{Remote: from, Repo: c.repo, NoRepository: c.none, Dir: c.dir, DirName: c.name, Show: c.show, Settings: append(defaults, settings)}, base, nil
}
