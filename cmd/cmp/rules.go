package main

import (
	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/cli"
)

// rules describes every rule of the program.
func rules() cli.Rules {
	var all []cli.Rule
	for _, r := range doctor.Rules() {
		all = append(all, cli.Rule{Name: r.Name, Finds: r.Finds, Fix: r.Remedy, Page: "doctor.md#the-rules"})
	}
	for _, r := range lint.Rules() {
		all = append(all, cli.Rule{Name: r.Name, Finds: r.Finds, Page: "fleet.md#lint"})
	}
	return cli.NewRules(all...)
}
