// Package usage marks errors in a command line, for which the program has its own
// exit code.
package usage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// Error is an error in the command line.
type Error struct{ Err error }

// Error implements error.
func (u Error) Error() string { return u.Err.Error() }

// Unwrap allows each of several errors to be printed on a line of its own.
func (u Error) Unwrap() error { return u.Err }

// New returns such an error.
func New(text string) error { return Error{errors.New(text)} }

// Errorf formats such an error like fmt.Errorf.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// Is reports whether an error is or contains an error in the command line.
func Is(err error) bool {
	var fault Error
	return errors.As(err, &fault)
}

// plainWord matches a word that a shell does not interpret.
var plainWord = lazyregexp.New(`^[-A-Za-z0-9_./=:@%+,]+$`)

// Quote returns a word as it is written in a command line.
func Quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
