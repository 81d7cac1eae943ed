// Package usage marks faults of a command line, which end the program with a code of
// their own, wherever they are found.
package usage

import (
	"errors"
	"fmt"
)

// Error is a fault of the command line.
type Error struct{ Err error }

// Error implements error.
func (u Error) Error() string { return u.Err.Error() }

// Unwrap lets each fault of several have a line of its own.
func (u Error) Unwrap() error { return u.Err }

// New is such a fault.
func New(text string) error { return Error{errors.New(text)} }

// Errorf is such a fault, with the verbs of fmt.Errorf.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// Is reports whether an error is, or holds, a fault of the command line.
func Is(err error) bool {
	var fault Error
	return errors.As(err, &fault)
}
