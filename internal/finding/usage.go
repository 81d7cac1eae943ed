package finding

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// UsageError is an error in a command line, for which the program has its own exit code.
type UsageError struct{ Err error }

// Error implements error.
func (u UsageError) Error() string { return u.Err.Error() }

// Unwrap allows each of several errors to be printed on a line of its own.
func (u UsageError) Unwrap() error { return u.Err }

// Usage returns such an error.
func Usage(text string) error { return UsageError{errors.New(text)} }

// Usagef formats such an error like fmt.Errorf.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// IsUsage reports whether an error is or contains an error in the command line.
func IsUsage(err error) bool {
	var fault UsageError
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
