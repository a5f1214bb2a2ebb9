package config

import (
	"errors"
	"fmt"
)

// Validator is implemented by configurations with checks beyond types, for
// example of the range of a port.
type Validator interface{ Validate() error }

// Checks collects the errors in a configuration, for Validate. The zero value
// has none.
type Checks struct{ errs []error }

// Expect adds an error, as formatted by fmt.Errorf, unless ok. The text begins
// with the key and names the expected value.
func (c *Checks) Expect(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// Add adds errors, except for those that are nil.
func (c *Checks) Add(errs ...error) { c.errs = append(c.errs, errs...) }

// Err returns the errors, joined; nil if there are none.
func (c *Checks) Err() error { return errors.Join(c.errs...) }
