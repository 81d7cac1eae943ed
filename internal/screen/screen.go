// Package screen decides whether what commands print is coloured: on terminals, unless
// people say otherwise.
package screen

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/ladder-cmp/ladder/internal/paint"
)

// Look says when output has colours: the flag --color.
type Look string

// String implements pflag.Value.
func (l *Look) String() string { return string(*l) }

// LookType is what --help calls the values of the flag.
const LookType = "when"

// Type is what --help calls the value.
func (l *Look) Type() string { return LookType }

// Set implements pflag.Value.
func (l *Look) Set(value string) error {
	if !slices.Contains(Looks, value) {
		return fmt.Errorf("want %s", strings.Join(Looks, ", "))
	}
	*l = Look(value)
	return nil
}

// On returns a writer that has colours as the flag says.
func (l *Look) On(out io.Writer) io.Writer { return screen{out, l} }

const (
	Auto   Look = "auto"
	Always Look = "always"
	Never  Look = "never"
)

// Looks are the values that the flag takes.
var Looks = []string{string(Auto), string(Always), string(Never)}

// screen is an output whose colours the flag decides. Texts are coloured by those who
// write them.
type screen struct {
	io.Writer
	look *Look
}

// coloured decides as other programs do: the flag, then NO_COLOR
// (https://no-color.org), then CLICOLOR_FORCE (https://bixense.com/clicolors),
// then whether a terminal that knows colours is there.
func (s screen) coloured() bool {
	force := os.Getenv("CLICOLOR_FORCE")
	switch {
	case *s.look != Auto:
		return *s.look == Always
	case os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return Terminal(s.Writer) != nil && os.Getenv("TERM") != "dumb"
}

// Terminal returns the terminal that is written to, or nil.
func Terminal(w io.Writer) *os.File {
	if s, ok := w.(screen); ok {
		w = s.Writer
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// PaintFor colours what is written to an output, if that shows colours.
func PaintFor(out io.Writer) paint.Paint {
	s, ok := out.(screen)
	return paint.Paint{On: ok && s.coloured()}
}
