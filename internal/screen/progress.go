package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Progress shows the progress of a rendering on a terminal, otherwise nothing.
func Progress(out io.Writer) func(done, of int, name string) {
	f := Terminal(out)
	if f == nil || os.Getenv("TERM") == "dumb" {
		return nil
	}
	const wide = 40
	return func(done, of int, name string) {
		if done == of {
			fmt.Fprintf(f, "\r%s\r", strings.Repeat(" ", wide+20))
			return
		}
		fmt.Fprintf(f, "\r%4d of %d  %-*.*s", done, of, wide, wide, name)
	}
}
