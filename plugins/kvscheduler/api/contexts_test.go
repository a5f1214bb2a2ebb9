package api_test

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// A callback that waits ends when its context is canceled, so that it is not left behind.
func ExampleDescriptor_contexts() {
	replies := make(chan error) // of a southbound that does not answer
	book := &api.Descriptor[*wrapperspb.StringValue, any]{
		Name: "book",
		CreateContext: func(ctx context.Context, key string, _ *wrapperspb.StringValue) (any, error) {
			select {
			case err := <-replies:
				return nil, err
			case <-ctx.Done():
				return nil, fmt.Errorf("create %s: %w", key, context.Cause(ctx))
			}
		},
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(api.ErrCallbackTimeout) // as the scheduler does when it gives the callback up
	_, err := book.CreateContext(ctx, "book/emma", wrapperspb.String("austen"))
	fmt.Println(err, errors.Is(err, api.ErrCallbackTimeout))
	// Output: create book/emma: callback did not return in time true
}
