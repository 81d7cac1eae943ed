package flags

import (
	"context"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet/children"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/random"
)

// Environment contains the flags of a command that renders the component in the working
// directory, for Argo CD's own plugin server. The environment determines what to render,
// and the flags what the rendering may use.
type Environment struct {
	ladder, seedFile *string
	remote           *Fetching
}

// AddEnvironment adds the flags to a command.
func AddEnvironment(flags *pflag.FlagSet) *Environment {
	return &Environment{ladder: LadderFlag(flags), seedFile: SeedFlag(flags), remote: AddFetching(flags, "")}
}

// Generate renders the component in the working directory.
func (in *Environment) Generate(ctx context.Context) (plugin.Result, error) {
	wd, err := os.Getwd()
	if err != nil {
		return plugin.Result{}, err
	}
	env := cli.Environment()
	c, err := checkout.OpenAt(checkout.PluginRoot(wd, env[plugin.SourcePath]), wd)
	if err != nil {
		return plugin.Result{}, err
	}
	defer c.Close()
	repo, err := checkout.NewUnpacked(c.Root)
	if err != nil {
		return plugin.Result{}, err
	}
	whole, dir, part := plugin.Whole(checkout.Regular{FS: repo}, c.Dir, env)
	req, err := plugin.FromEnvironment(whole, dir, env)
	if err != nil {
		return plugin.Result{}, part.Explain(err)
	}
	req.DirName, req.Children = c.Name, children.Children{}
	if req.Random, err = in.random(env); err != nil {
		return plugin.Result{}, err
	}
	if req.Remote, err = in.remote.Remote(); err != nil {
		return plugin.Result{}, err
	}
	base, err := KnowledgeOf(*in.ladder)
	if err != nil {
		return plugin.Result{}, err
	}
	res, err := plugin.Generate(ctx, req, base)
	if err == nil {
		err = res.Refused()
	}
	return res, part.Explain(err)
}

// random returns the random source of the rendering, from the seed and the Application that
// Argo CD names; nil without one of them.
func (in *Environment) random(env map[string]string) (*plugin.Random, error) {
	seedValue, err := ReadSeed(*in.seedFile)
	app, known := plugin.SeedApplication(env)
	if err != nil || seedValue == nil || !known {
		return nil, err
	}
	return &plugin.Random{Now: time.Now(), Key: func(random.Owner) random.Key { return seedValue.Key(app) }}, nil
}
