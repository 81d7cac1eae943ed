package crds

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
)

// Table formats CRDs as a table.
func Table(all []Description) string {
	var rows [][]string
	for _, d := range all {
		var versions []string
		for _, v := range d.Versions {
			versions = append(versions, v.String())
		}
		cells := []string{d.Name, d.Kind, d.Group, d.Scope, strings.Join(versions, ", "), fmt.Sprint(d.Size), d.Switch,
			d.Conversion, strings.Join(d.Users, ", "), d.Source}
		for i, cell := range cells {
			cells[i] = cmp.Or(cell, "-")
		}
		rows = append(rows, cells)
	}
	return paint.Rows([]string{"NAME", "KIND", "GROUP", "SCOPE", "VERSIONS", "SIZE", "SWITCH", "CONVERSION", "USED BY", "FROM"}, rows)
}

// RemovedText lists what is removed from a number of CRDs.
func RemovedText(p paint.Paint, lost []finding.Finding, of int) string {
	if len(lost) == 0 {
		return fmt.Sprintf("no CRD or version is removed (%s compared)\n", finding.Counted(of, "CRD"))
	}
	return p.Findings(lost)
}
