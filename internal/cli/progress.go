package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// quietTime is how long a command runs before it shows what it is doing.
const quietTime = 2 * time.Second

// wide is the width of a name in columns.
const wide = 60

// clear erases a line.
var clear = "\r" + strings.Repeat(" ", wide+20) + "\r"

// Progress shows the progress of a long operation on a terminal. It is nil for other
// outputs.
func Progress(out io.Writer) func(done, of int, name string) {
	f := progressOn(out)
	if f == nil {
		return nil
	}
	return progress(f, time.Now())
}

func progress(out io.Writer, begin time.Time) func(done, of int, name string) {
	shown := false
	return func(done, of int, name string) {
		switch {
		case done < of && time.Since(begin) >= quietTime:
			shown = true
			fmt.Fprintf(out, "\r%4d of %d  %-*.*s", done, of, wide, wide, name)
		case done == of && shown:
			fmt.Fprint(out, clear)
		}
	}
}

// Waiting shows on a terminal what a command waits for, if that takes long, until done is
// called.
func Waiting(out io.Writer, what string) (done func()) {
	f := progressOn(out)
	if f == nil {
		return func() {}
	}
	return waiting(f, what)
}

func waiting(out io.Writer, what string) (done func()) {
	show := time.AfterFunc(quietTime, func() { fmt.Fprintf(out, "\r%-*.*s", wide, wide, what) })
	return func() {
		if !show.Stop() {
			fmt.Fprint(out, clear)
		}
	}
}

// progressOn returns the terminal that is written to, if it can show progress.
func progressOn(out io.Writer) *os.File {
	if os.Getenv("TERM") == "dumb" {
		return nil
	}
	return terminal(out)
}
