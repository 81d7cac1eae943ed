package main

import (
	"io"
	"os"
)

// paint colours text for a terminal, and leaves it as it is for anything else.
type paint struct{ on bool }

// newPaint decides by what --color says; auto means for a terminal, unless
// NO_COLOR is set (https://no-color.org).
func newPaint(out io.Writer, choice string) paint {
	return paint{choice == "always" || choice == "auto" && os.Getenv("NO_COLOR") == "" && isTerminal(out)}
}

// isTerminal reports whether somebody reads what is written on a terminal that
// knows more than text.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// The colours, by their codes.
const (
	red   = "31"
	green = "32"
	cyan  = "36"
	bold  = "1"
)

func (p paint) in(colour, text string) string {
	if !p.on || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
