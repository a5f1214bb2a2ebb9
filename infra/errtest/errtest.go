// Package errtest ends tests at errors that they do not expect.
package errtest

import (
	"errors"
	"testing"
)

// Fatal ends a test if one of the errors is not nil.
func Fatal(tb testing.TB, errs ...error) {
	tb.Helper()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}
