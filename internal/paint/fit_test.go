package paint_test

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/paint"
)

func TestFit(t *testing.T) {
	const table = `WAVE  KIND        WHY
0     Deployment  runs Pods
10    Job         calls Deployment shop, which must be healthy before it starts
`
	for _, c := range []struct {
		name  string
		width int
		in    string
		want  string
	}{
		{"no width", 0, table, table},
		{"wide enough", 80, table, table},
		{"the last column goes on below itself", 50, table, `WAVE  KIND        WHY
0     Deployment  runs Pods
10    Job         calls Deployment shop, which
                  must be healthy before it starts
`},
		{"or on the next line", 40, table, `WAVE  KIND        WHY
0     Deployment  runs Pods
10    Job
      calls Deployment shop, which must
      be healthy before it starts
`},
		{"a sentence is indented", 40, "  wave 50: mounts Secret shop/tls, which is written by Certificate shop/tls\n",
			`  wave 50: mounts Secret shop/tls, which
    is written by Certificate shop/tls
`},
		{"a long word stays whole", 30, "x " + strings.Repeat("é", 40) + " y", "x\n  " + strings.Repeat("é", 40) + "\n  y"},
		{"too narrow for anything", 10, table, table},
	} {
		if got := paint.Fit(c.in, c.width); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
