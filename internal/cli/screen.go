package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/ladder-cmp/ladder/internal/paint"
)

// ColorMode is the value of the flag --color.
type ColorMode string

// String implements pflag.Value.
func (l *ColorMode) String() string { return string(*l) }

// ColorModeType is the name of the flag's values in --help.
const ColorModeType = "when"

// Type returns the name of the value in --help.
func (l *ColorMode) Type() string { return ColorModeType }

// Set implements pflag.Value.
func (l *ColorMode) Set(value string) error {
	if !slices.Contains(ColorModes, value) {
		return fmt.Errorf("want %s", strings.Join(ColorModes, ", "))
	}
	*l = ColorMode(value)
	return nil
}

// On returns a writer with colors according to the flag.
func (l *ColorMode) On(out io.Writer) io.Writer { return screen{out, l} }

const (
	Auto   ColorMode = "auto"
	Always ColorMode = "always"
	Never  ColorMode = "never"
)

// ColorModes are the values of the flag.
var ColorModes = []string{string(Auto), string(Always), string(Never)}

// screen is an output whose colors depend on the flag. The writers of texts add the
// colors.
type screen struct {
	io.Writer
	look *ColorMode
}

// WriteString implements io.StringWriter: manifests are long, and files take strings.
func (s screen) WriteString(text string) (int, error) { return io.WriteString(s.Writer, text) }

// coloured decides like other programs: the flag, then NO_COLOR
// (https://no-color.org), then CLICOLOR_FORCE (https://bixense.com/clicolors), then
// whether the output is a terminal with colors.
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
	return terminal(s.Writer) != nil && os.Getenv("TERM") != "dumb"
}

// terminal returns the terminal behind a writer, or nil.
func terminal(w io.Writer) *os.File {
	if s, ok := w.(screen); ok {
		w = s.Writer
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// Width returns the number of characters in a line of an output; 0 if it is no terminal.
func Width(w io.Writer) int {
	f := terminal(w)
	if f == nil {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// PaintFor returns the colors for an output, if it supports them.
func PaintFor(out io.Writer) paint.Paint {
	s, ok := out.(screen)
	return paint.Paint{On: ok && s.coloured()}
}
