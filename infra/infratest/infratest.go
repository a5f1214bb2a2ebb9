// Package infratest has helpers for tests of all packages: they end a test at an unexpected error, compare
// messages, write to the log of a test, build and run programs, measure performance budgets, make small file
// systems, and open many connections.
//
// A performance budget is declared beside the benchmark that measures it, as an ordinary metric. Its unit
// consists of the name of the budget, the unit of the number, and the limit: "create-100k[s]<=0.5".
// "make bench" collects the budgets (.ci/budgets) and prints one line for each: the measured number, the
// budget, and whether it holds.
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
