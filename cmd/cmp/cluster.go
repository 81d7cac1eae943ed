package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/internal/build"
)

// clusterInput contains the flags that name a cluster.
type clusterInput struct {
	cluster.Cluster
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
func (c *clusterInput) named() *cluster.Cluster {
	if !c.isSet() {
		return nil
	}
	return c.current()
}

// current returns the cluster of the flags, by default the current context.
func (c *clusterInput) current() *cluster.Cluster {
	cluster := c.Cluster
	cluster.UserAgent = c.cmd.CommandPath() + " " + build.Version(release)
	return &cluster
}
