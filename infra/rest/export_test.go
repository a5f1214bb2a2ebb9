package rest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
)

// RefusesHost reports whether a server that listens on an address, and needs no credentials,
// refuses a request.
func RefusesHost(listens net.Addr, r *http.Request) bool {
	p := &Plugin{addr: listens}
	w := httptest.NewRecorder()
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, listens))
	p.checkHost(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	return w.Code == http.StatusForbidden
}
