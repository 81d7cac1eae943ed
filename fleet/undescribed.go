package fleet

import (
	"strings"

	"github.com/ladder-cmp/ladder/render/input"
)

// distinguish names components without component.yaml by their paths if their directories have
// the same name, such as overlays for one environment.
func (f *Fleet) distinguish() {
	named := map[string]int{}
	for _, c := range f.Components {
		named[c.Name]++
	}
	for _, c := range f.Components {
		if !c.Described && named[c.Name] > 1 {
			c.Name = strings.ReplaceAll(strings.TrimPrefix(c.Dir, input.Prefix(f.Dir)), "/", "-")
		}
	}
}
