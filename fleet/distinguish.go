package fleet

import (
	"strings"

	"github.com/ladder-cmp/ladder/render/input"
)

// distinguish names components without component.yaml by their paths if their directories have
// the same name, such as overlays for one environment.
func (f *Fleet) distinguish() {
	counts := map[string]int{}
	for _, c := range f.Components {
		counts[c.Name]++
	}
	for _, c := range f.Components {
		if !c.Described && counts[c.Name] > 1 {
			c.Name = strings.ReplaceAll(strings.TrimPrefix(c.Dir, input.Prefix(f.Dir)), "/", "-")
		}
	}
}
