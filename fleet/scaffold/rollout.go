package scaffold

import (
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
)

// schemaFile is the name of docs/component.schema.json in a repository.
const schemaFile = "component.schema.json"

// application returns the Application of a directory.
func application(fl *fleet.Fleet, dir string) int {
	return slices.IndexFunc(fl.Applications, func(a *fleet.Application) bool { return a.Dir == dir })
}

// crdsRung is the rung of CRDs.
const crdsRung = "crds"
