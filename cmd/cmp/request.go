package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
)

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
	misspelt := map[finding.Finding]bool{}
	for _, f := range finding.Of(settings.Values.SyntaxErrors()) {
		misspelt[f] = true
	}
	if slices.ContainsFunc(finding.Of(err), func(f finding.Finding) bool {
		return misspelt[f] || f.Rule == helm.BadName && settings.Name != ""
	}) {
		return usage.Error{Err: err}
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
	return f.Rule == render.UnexpectedValues && !own.Empty() || f.File != "" && (slices.Contains(own.Files, f.File) ||
		slices.ContainsFunc(own.SetFile, func(expr string) bool { return strings.HasSuffix(expr, "="+f.File) }))
}

// ladderBeside is what is known about kinds in a directory: what is built in,
// the file of --ladder, and every ladder.yaml in the directory and above it in
// its repository, as for a component.
func (in *inputs) ladderBeside(dir string) (*knowledge.Base, error) {
	base, err := ladderfile.Base(*in.ladder)
	if err != nil {
		return nil, err
	}
	c, err := checkout.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer c.Close()
	return plugin.Request{Repo: c.Repo, Dir: c.Dir, Show: c.Show}.Knowledge(base)
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
	c, err := checkout.Open(dir)
	if err != nil {
		return req, nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	req, base, err = in.requestFor(c, defaults...)
	if err != nil {
		c.Close()
		return req, nil, nil, err
	}
	return req, base, c.Close, nil
}

// sameName returns files with the base name of one that was not found, as the user would
// name them.
func sameName(c *checkout.Checkout, name string) []string {
	dirs := []string{c.Dir}
	if !c.NoRepository {
		dirs = append(dirs, ".")
	}
	var all []string
	for _, file := range input.SameName(c.Repo, name, dirs...) {
		all = append(all, c.Show(file))
	}
	return all
}

var errNoName = usage.New(`empty argument; name the directory of the component, or "." for the working directory`)

// requestFor says with the flags how the component of a checkout is to be
// rendered.
func (in *inputs) requestFor(c *checkout.Checkout, defaults ...plugin.Settings) (plugin.Request, *knowledge.Base, error) {
	settings, err := in.settings()
	if err != nil {
		return plugin.Request{}, nil, err
	}
	settings.Values.Read, settings.Values.From = c.ReadValues, "the working directory"
	settings.Values.Similar = func(name string) []string { return sameName(c, name) }
	base, err := ladderfile.Base(*in.ladder)
	if err != nil {
		return plugin.Request{}, nil, err
	}
	from, err := in.remote.Remote(nil, nil)
	if err != nil {
		return plugin.Request{}, nil, err
	}
	random, err := in.seeding.random()
	if err != nil {
		return plugin.Request{}, nil, err
	}
	req := plugin.Request{Remote: from, Random: random, Repo: c.Repo, NoRepository: c.NoRepository, Dir: c.Dir, DirName: c.Name, Show: c.Show, Settings: append(defaults, settings)}
	if in.generators != nil {
		values, err := in.generators()
		if err != nil {
			return req, nil, err
		}
		req.Generators = &values
	}
	return req, base, nil
}
