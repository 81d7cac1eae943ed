package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// appsArgs accepts directories, or none with --health-check.
func appsArgs(cmd *cobra.Command, args []string, healthCheckFormat string) error {
	switch {
	case healthCheckFormat == "":
		return option.Args(1, option.Many)(cmd, args)
	case len(args) > 0:
		return option.BadArgs(cmd, errors.New("--health-check takes no directory; use one of the two"))
	}
	return nil
}

func printChildHealth(s streams, ladder, format string) error {
	base, err := ladderfile.Base(ladder)
	if err != nil {
		return err
	}
	configMap, values := cluster.ChildHealthCheck(base)
	text, ok := map[string]string{"configmap": configMap, "values": values}[format]
	if !ok {
		return usage.Errorf("unknown health check format %q; use --health-check=configmap or --health-check=values", format)
	}
	return s.emit(text, nil)
}

func checkChildHealth(ctx context.Context, file string) error {
	text, err := wholefile.Read(file, "pass the argocd-cm ConfigMap, or values for the Argo CD Helm chart")
	if err != nil {
		return err
	}
	found, err := cluster.ChecksChildren(ctx, file, string(text))
	return errors.Join(err, finding.Err(found))
}
