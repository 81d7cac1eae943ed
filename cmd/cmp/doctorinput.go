package main

import (
	"context"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/argocd"
	"github.com/ladder-cmp/ladder/internal/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/verdict"
)

// examine looks at an Argo CD.
func examine(ctx context.Context, e doctor.Input) []finding.Finding {
	e.Serve = servingOf
	e.JudgeHealth = func(script string) []string {
		ctx, cancel := context.WithTimeout(ctx, checkPatience)
		defer cancel()
		return fleet.JudgeChildHealth(ctx, script)
	}
	return doctor.Examine(e)
}

// diagnose looks at what was read, and at the cluster and the sandbox if they are
// asked for.
func diagnose(ctx context.Context, e doctor.Input, c argocd.Cluster, live, confined bool) (r verdict.Verdict, err error) {
	if live {
		found, err := c.Read(ctx)
		if err != nil {
			return r, err
		}
		e.Objects, e.Secrets, e.Live = append(e.Objects, found.Objects...), found.Secrets, true
		r.Findings = found.Findings
	}
	if confined {
		found, err := examineSandbox()
		if err != nil {
			return r, err
		}
		r.Findings = append(r.Findings, found...)
	}
	r.Findings = append(r.Findings, examine(ctx, e)...)
	r.Of = argocd.Described(e)
	return r, nil
}
