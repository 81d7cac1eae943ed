package e2e_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// row is a line of the table that a run ends with.
type row struct {
	suite, component string
	waves            int
	took             time.Duration
	result           string
}

// results are the rows of this run.
var results tableOfResults

type tableOfResults struct {
	mu   sync.Mutex
	rows []row
}

func (r *tableOfResults) add(row row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, row)
}

// table prints the rows, sorted by suite and component.
func (r *tableOfResults) table() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.suite, b.suite), cmp.Compare(a.component, b.component))
	})
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SUITE\tCOMPONENT\tWAVES\tSECONDS\tRESULT")
	for _, row := range r.rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.0f\t%s\n", row.suite, row.component, row.waves, row.took.Seconds(), row.result)
	}
	w.Flush() // into memory
	return b.String()
}

// counter counts what parallel tests find.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *counter) value() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}
