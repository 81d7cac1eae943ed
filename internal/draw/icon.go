package draw

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/object"
)

// Icon is a glyph that decorates the name of a kind: a filled path in a box of 14 by 14,
// with the even-odd rule.
type Icon struct {
	Name string `json:"name"`
	// Kinds have the form of object.ID.GroupKind.
	Kinds []string `json:"kinds,omitempty"`
	Path  string   `json:"path"`
}

//go:embed icons.yaml
var iconsText []byte

var icons = sync.OnceValue(func() (all []Icon) {
	if err := yaml.UnmarshalStrict(iconsText, &all); err != nil {
		panic(fmt.Sprintf("embedded icons: %v", err)) // tests read them
	}
	return all
})

// Icons returns all icons; the last one is that of kinds without their own.
func Icons() []Icon { return slices.Clone(icons()) }

// IconOf returns the icon of an object's kind.
func IconOf(id object.ID) Icon {
	kind := id.GroupKind()
	all := icons()
	for _, i := range all {
		if slices.Contains(i.Kinds, kind) {
			return i
		}
	}
	return all[len(all)-1]
}
