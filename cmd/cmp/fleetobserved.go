package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/argocd"
	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/object"
)

// observedInput contains the flags that select Applications with a recorded rollout.
type observedInput struct {
	flags       *pflag.FlagSet
	file        string
	fromCluster bool
	cluster     argocd.Cluster
}

func (in *observedInput) add(flags *pflag.FlagSet) {
	in.flags = flags
	flags.StringVar(&in.file, "observed", "", "File of Applications with their status, from which durations are read, or - for standard input")
	flags.BoolVar(&in.fromCluster, "from-cluster", false, "Read durations from the Applications of a cluster")
	clusterFlags(flags, &in.cluster)
}

// clusterFlags name a cluster to read Applications from.
func clusterFlags(flags *pflag.FlagSet, c *argocd.Cluster) {
	c.Namespace = "argocd"
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "Kubeconfig of a cluster to read Applications from")
	flags.StringVar(&c.Context, "context", "", "Kubeconfig context of a cluster to read Applications from")
}

// usesCluster reports whether the flags name a cluster.
func usesCluster(flags *pflag.FlagSet) bool {
	return flags.Changed("kubeconfig") || flags.Changed("context")
}

// read reads the recorded rollout; it is empty if no flag requests one.
func (in *observedInput) read(cmd *cobra.Command, s streams, f *fleet.Fleet, environment string) (rollout.Observed, error) {
	useCluster := in.fromCluster || usesCluster(in.flags)
	switch {
	case useCluster && in.file != "":
		return rollout.Observed{}, usage.New("--observed reads a file, and --from-cluster, --context and --kubeconfig a cluster; use one of the two")
	case in.file != "":
		objs, err := manifests.Read(s.In, in.file)
		if err != nil {
			return rollout.Observed{}, err
		}
		return rollout.Observe(f, environment, displayName(in.file), objs)
	case !useCluster:
		return rollout.Observed{}, nil
	}
	objs, err := applicationsOf(cmd, s, in.cluster)
	if err != nil {
		return rollout.Observed{}, err
	}
	return rollout.Observe(f, environment, "the cluster", objs)
}

func displayName(name string) string {
	if name == "-" {
		return finding.StandardInput
	}
	return name
}

// applicationsOf reads the Applications and ApplicationSets of a cluster.
func applicationsOf(cmd *cobra.Command, s streams, c argocd.Cluster) ([]object.Object, error) {
	c.UserAgent = cmd.CommandPath() + " " + build.Version(release)
	found, err := c.Applications(cmd.Context())
	warn(s, found.Findings)
	return found.Objects, err
}
