package rest

import (
	"context"
	"net"
	"net/http"
	"strconv"
)

type (
	userKey   struct{} // string: the name of the user, if the server knows users
	socketKey struct{} // uint64: the number of a connection to a unix socket
)

// Caller returns the user who made a request, empty if the server knows no users
// or needs none for it, and the peer address as host:port. The peers of a unix
// socket have no addresses; they are numbered, as in unix-socket:7.
func Caller(r *http.Request) (user, addr string) {
	user, _ = r.Context().Value(userKey{}).(string)
	if n, ok := r.Context().Value(socketKey{}).(uint64); ok {
		return user, "unix-socket:" + strconv.FormatUint(n, 10)
	}
	return user, r.RemoteAddr
}

// connected returns the context of a new connection.
func (p *Plugin) connected(ctx context.Context, c net.Conn) context.Context {
	if _, ok := c.RemoteAddr().(*net.UnixAddr); ok {
		return context.WithValue(ctx, socketKey{}, p.sockets.Add(1))
	}
	return ctx
}
