package inventory

import "github.com/ladder-cmp/ladder/internal/paint"

// Formats are the formats of an inventory, the default first.
var Formats = []string{"markdown", "json", "csv", "html", "checklist"}

// Render returns the inventory in one of its formats.
func (inv Inventory) Render(format string) (string, error) {
	switch format {
	case "json":
		return paint.JSON(inv)
	case "csv":
		return inv.CSV()
	case "html":
		return inv.HTML()
	case "checklist":
		return inv.Checklist(), nil
	}
	return inv.Markdown(), nil
}
