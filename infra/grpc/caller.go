package grpc

import (
	"context"
	"net"
	"strconv"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
)

// Caller returns the user who made the call with this context, empty if the
// server knows no users, and the peer address as host:port. The peers of a unix
// socket have no addresses; they are numbered, as in unix-socket:7.
func Caller(ctx context.Context) (user, addr string) {
	if a, ok := ctx.Value(accountKey{}).(*accounts.Account); ok {
		user = a.Name
	}
	if n, ok := ctx.Value(socketKey{}).(uint64); ok {
		return user, "unix-socket:" + strconv.FormatUint(n, 10)
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		addr = p.Addr.String()
	}
	return user, addr
}

// socketKey is the context key of the number of a connection to a unix socket.
type socketKey struct{}

// TagConn implements stats.Handler.
func (c *calls) TagConn(ctx context.Context, about *stats.ConnTagInfo) context.Context {
	if _, ok := about.RemoteAddr.(*net.UnixAddr); ok {
		return context.WithValue(ctx, socketKey{}, c.sockets.Add(1))
	}
	return ctx
}
