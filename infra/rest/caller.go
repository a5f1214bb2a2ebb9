package rest

import "net/http"

// userKey is the context key of the name of the user, a string, if the server knows users.
type userKey struct{}

// Caller returns the user who made a request, empty if the server knows no users
// or needs none for it, and the peer address as host:port. The peers of a unix
// socket have no addresses; they are numbered, as in unix-socket:7.
func Caller(r *http.Request) (user, addr string) {
	user, _ = r.Context().Value(userKey{}).(string)
	return user, r.RemoteAddr
}
