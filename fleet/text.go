package fleet

import (
	"fmt"
	"strings"
)

// String describes each Application and its dependencies, for tests.
func (f *Fleet) String() string {
	var b strings.Builder
	for i, app := range f.Applications {
		fmt.Fprintf(&b, "%s %s  [%s: %s]\n", f.Write(app.Phase), app.Name, app.Rung, app.RungWhy)
		for _, l := range f.Links {
			if l.From != i {
				continue
			}
			for _, r := range l.Reasons {
				mark := ""
				if r.Inferred {
					mark = " (inferred)"
				}
				fmt.Fprintf(&b, "  %-8s %s: %s%s\n", r.Strength, f.Applications[l.To].Name, r, mark)
			}
		}
	}
	return b.String()
}
