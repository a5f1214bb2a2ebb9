// Package exit has the exit codes of agentctl, and the errors that choose one.
package exit

import (
	"errors"
	"fmt"
)

// The exit codes other than 0.
const (
	CodeError   = 1
	CodeFinding = 2
	CodeUsage   = 125
)

// usageError is an error in the command line itself.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// findingError is not a failure: the command found what it looks for.
type findingError struct{ error }

// Usage marks an error as an error in the command line itself.
func Usage(err error) error { return usageError{err} }

// Usagef returns an error in the command line itself.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Findingf returns an error that reports what a command found, which is no failure.
func Findingf(format string, args ...any) error { return findingError{fmt.Errorf(format, args...)} }

// Finding returns the error that reports what a command found; ok is false for failures.
func Finding(err error) (finding error, ok bool) {
	var f findingError
	ok = errors.As(err, &f)
	return f, ok
}

// IsFinding reports whether an error reports what a command found.
func IsFinding(err error) bool { return errors.As(err, &findingError{}) }

// IsUsage reports whether an error is one in the command line itself.
func IsUsage(err error) bool { return errors.As(err, &usageError{}) }
