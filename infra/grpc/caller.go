package grpc

import (
	"context"

	"google.golang.org/grpc/peer"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
)

// Caller returns the user who made the call with this context, empty if the
// server knows no users, and the peer address as host:port. The peers of a unix
// socket have no addresses; they are numbered, as in unix-socket:7.
func Caller(ctx context.Context) (user, addr string) {
	if a, ok := ctx.Value(accountKey{}).(*accounts.Account); ok {
		user = a.Name
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		addr = p.Addr.String()
	}
	return user, addr
}
