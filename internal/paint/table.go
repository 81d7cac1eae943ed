package paint

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Columns formats rows, which are lines with tabs between cells, below a header.
func Columns(head string, rows func(w io.Writer)) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	rows(w)
	w.Flush() // into memory
	return b.String()
}

// Rows formats rows of cells.
func Rows(head []string, rows [][]string) string {
	return Columns(strings.Join(head, "\t"), func(w io.Writer) {
		for _, row := range rows {
			for i := range row {
				row[i] = finding.Sanitize(row[i])
			}
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
	})
}
