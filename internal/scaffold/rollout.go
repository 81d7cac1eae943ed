package scaffold

import (
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
)

// schemaFile is what cmp fleet schema prints, where people keep it.
const schemaFile = "component.schema.json"

// application is the one of a directory.
func application(fl *fleet.Fleet, dir string) int {
	return slices.IndexFunc(fl.Applications, func(a *fleet.Application) bool { return a.Dir == dir })
}

// definitionsRung is what definitions are for.
const definitionsRung = "crds"
