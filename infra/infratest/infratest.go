// Package infratest is what tests of all packages share: it ends them at errors that they do not expect, measures
// budgets, fills file systems and opens many connections.
package infratest

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
