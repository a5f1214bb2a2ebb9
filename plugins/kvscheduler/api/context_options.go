package api

import (
	"context"
	"slices"
)

type contextKey struct{}

// ContextWithOptions returns a context that carries options of transactions, besides
// those that ctx carries already. Commit applies them before its own options.
func ContextWithOptions(ctx context.Context, opts ...TxnOption) context.Context {
	return context.WithValue(ctx, contextKey{}, slices.Concat(ContextOptions(ctx), opts))
}

// ContextOptions returns the options that a context carries.
func ContextOptions(ctx context.Context) []TxnOption {
	opts, _ := ctx.Value(contextKey{}).([]TxnOption)
	return opts
}
