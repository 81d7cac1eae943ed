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
	repos   []string
	values  func() (appset.Values, error)
	cluster clusterInput
	ladder  *string
}

// addFlags adds the flags except --generator-values and --ladder, which a command that renders
// components has already.
func (e *existingInput) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&e.repos, "repo", nil, "Directory of another repository whose generators and values files are read (URL=DIR, may be repeated)")
	e.cluster.addFlags(cmd, "a cluster to read Applications from")
}

// sources returns the locations of the Applications: the paths and, if requested, the cluster.
func (e *existingInput) sources(s streams, paths []string) (from importer.Sources, err error) {
	from = importer.Sources{Paths: checkout.Unique(paths), Stdin: s.In, Cluster: e.cluster.named()}
	if from.Base, err = ladderfile.Base(*e.ladder); err != nil {
		return from, err
	}
	if from.Values, err = e.values(); err != nil {
		return from, err
	}
	from.Others, err = importer.OpenOthers(e.repos)
	return from, err
}

// clusterInput contains the flags that name a cluster.
type clusterInput struct {
	argocd.Cluster
	flags *pflag.FlagSet
	cmd   *cobra.Command
}

// addFlags adds the flags to a command. of ends their help.
func (c *clusterInput) addFlags(cmd *cobra.Command, of string) {
	c.cmd, c.flags, c.Namespace = cmd, cmd.Flags(), "argocd"
	c.flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "Kubeconfig of "+of)
	c.flags.StringVar(&c.Context, "context", "", "Kubeconfig context of "+of)
}

// isSet reports whether the flags name a cluster.
func (c *clusterInput) isSet() bool {
	return c.flags.Changed("kubeconfig") || c.flags.Changed("context")
}

// named returns the cluster that the flags name; nil if they name none.
func (c *clusterInput) named() *argocd.Cluster {
	if !c.isSet() {
		return nil
	}
	return c.current()
}

// current returns the cluster of the flags, by default the current context.
func (c *clusterInput) current() *argocd.Cluster {
	cluster := c.Cluster
	cluster.UserAgent = c.cmd.CommandPath() + " " + build.Version(release)
	return &cluster
}
