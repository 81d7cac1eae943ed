package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet/importer"
	"github.com/ladder-cmp/ladder/internal/appset"
	"github.com/ladder-cmp/ladder/internal/argocd"
	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
)

// existingInput contains the flags that say where existing Applications are, and what their
// ApplicationSets and values files refer to outside of the repository.
type existingInput struct {
	flags   *pflag.FlagSet
	repos   []string
	values  func() (appset.Values, error)
	cluster argocd.Cluster
	ladder  *string
}

// addFlags adds the flags except --generator-values and --ladder, which a command that renders
// components has already.
func (e *existingInput) addFlags(flags *pflag.FlagSet) {
	e.flags = flags
	flags.StringArrayVar(&e.repos, "repo", nil, "Directory of another repository whose generators and values files are read (URL=DIR, may be repeated)")
	clusterFlags(flags, &e.cluster)
}

// sources returns the locations of the Applications: the paths and, if requested, the cluster.
func (e *existingInput) sources(cmd *cobra.Command, s streams, paths []string) (importer.Sources, error) {
	base, err := ladderfile.Base(*e.ladder)
	if err != nil {
		return importer.Sources{}, err
	}
	locations := importer.Sources{Paths: checkout.Unique(paths), Stdin: s.In, Base: base}
	if usesCluster(e.flags) {
		e.cluster.UserAgent = cmd.CommandPath() + " " + build.Version(release)
		locations.Cluster = &e.cluster
	}
	return locations, nil
}

// read reads the Applications, whose sources are in repo.
func (e *existingInput) read(cmd *cobra.Command, s streams, from importer.Sources, repo *checkout.Checkout) (importer.Input, error) {
	in, findings, err := from.Read(cmd.Context(), repo)
	warn(s, findings)
	if err != nil {
		return in, err
	}
	if in.Values, err = e.values(); err != nil {
		return in, err
	}
	in.Others, err = importer.OpenOthers(e.repos)
	return in, err
}
