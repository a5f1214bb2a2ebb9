package netlinkapi

import (
	"context"
	"errors"
	"fmt"
)

// Gate is what every call of a handle passes through on the way to the kernel. The zero value refuses
// calls whose context has ended, and returns errors as they are.
type Gate struct {
	// Check returns why the kernel must not be asked; nil: it may. Default: Canceled.
	Check func(ctx context.Context) error
	// Explain may replace errors of the kernel, but not errors of sockets, whose permissions may
	// change.
	Explain func(error) error
}

// Canceled returns an error with the cause if the context has ended.
func Canceled(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(cause, err):
		return fmt.Errorf("the kernel was not asked: %w", err)
	}
	return fmt.Errorf("the kernel was not asked: %w: %w", err, cause)
}

// Allow returns why a call must not ask the kernel; nil: it may. It is all that calls that open a
// socket use of the gate.
func (g Gate) Allow(ctx context.Context) error {
	if g.Check == nil {
		return Canceled(ctx)
	}
	return g.Check(ctx)
}

// Pass makes a call if it is allowed, and explains its error. The gate is not asked again while the
// call runs, whatever number of requests it sends: none is left half done.
func (g Gate) Pass(ctx context.Context, call func() error) error {
	if err := g.Allow(ctx); err != nil {
		return err
	}
	err := call()
	if err != nil && g.Explain != nil {
		return g.Explain(err)
	}
	return err
}

// PassAll is Pass for a call that makes n changes and returns an error for each.
func (g Gate) PassAll(ctx context.Context, n int, call func() []error) []error {
	var errs []error
	if err := g.Pass(ctx, func() error { errs = call(); return nil }); err != nil {
		errs = make([]error, n)
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	for i, err := range errs {
		if err != nil && g.Explain != nil {
			errs[i] = g.Explain(err)
		}
	}
	return errs
}
