package main

import (
	"context"
	"errors"
	"io"

	"github.com/ladder-cmp/ladder/internal/argocd"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

func printChildHealth(s streams, ladder, format string) error {
	base, err := ladderfile.Base(ladder)
	if err != nil {
		return err
	}
	configMap, values := argocd.ChildHealthCheck(base)
	text, ok := map[string]string{"configmap": configMap, "values": values}[format]
	if !ok {
		return usage.Errorf("unknown health check format %q; use --health-check=configmap or --health-check=values", format)
	}
	_, err = io.WriteString(s.Out, text)
	return err
}

func checkChildHealth(ctx context.Context, file string) error {
	text, err := wholefile.Read(file, "pass the argocd-cm ConfigMap, or values for the Argo CD Helm chart")
	if err != nil {
		return err
	}
	found, err := argocd.ChecksChildren(ctx, file, string(text))
	return errors.Join(err, finding.Err(found))
}
