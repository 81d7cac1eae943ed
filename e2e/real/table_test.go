package real_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// row is a line of the table that a run ends with.
type row struct {
	component string
	way       way
	outcome
}

// results are the rows of this run.
var results table

type table struct {
	mu   sync.Mutex
	rows []row
}

func (r *table) add(row row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, row)
}

// table prints the rows as docs/e2e.md has them.
func (r *table) table() string {
	order := []way{ladder, without, expert, compact}
	slices.SortStableFunc(r.rows, func(x, y row) int {
		return cmp.Or(strings.Compare(x.component, y.component), slices.Index(order, x.way)-slices.Index(order, y.way))
	})
	var b strings.Builder
	b.WriteString("| component | order | waves | result | attempts | seconds | restarts | errors on the way |\n")
	b.WriteString("| --- | --- | ---: | --- | ---: | ---: | ---: | --- |\n")
	for _, row := range r.rows {
		result := string(row.Result)
		if row.Certain != "" {
			result += ", certain"
		}
		seen := row.Errors
		if len(seen) > 2 {
			seen = append(seen[:2:2], fmt.Sprintf("and %d more", len(row.Errors)-2))
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %d | %.0f | %d | %s |\n", row.component, row.way, row.waves, result, row.Attempts(),
			row.settled.Seconds(), row.restarts, strings.ReplaceAll(strings.Join(seen, "; "), "|", `\|`))
	}
	return b.String()
}
