package main

import (
	"context"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/nearest"
)

// examine looks at an Argo CD.
func examine(ctx context.Context, e doctor.Input) []finding.Finding {
	e.Serve, e.Deployment, e.Nearest = servingOf, reflect.TypeFor[appsv1.Deployment](), nearestOf
	e.JudgeHealth = func(script string) []string {
		ctx, cancel := context.WithTimeout(ctx, checkPatience)
		defer cancel()
		return fleet.JudgeChildHealth(ctx, script)
	}
	return doctor.Examine(e)
}

func nearestOf(word string, names []string) string {
	n := nearest.New(word)
	for _, name := range names {
		n.Add(name, name)
	}
	return n.String()
}
