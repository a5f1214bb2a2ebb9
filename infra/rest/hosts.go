package rest

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
)

// anyHost in allowed-hosts allows all names.
const anyHost = "*"

// checkHost protects a server without credentials from a web site whose name resolves to the
// address of the server (DNS rebinding). A browser regards such a site and the server as the
// same origin, so the name is the only difference. It refuses unknown names of a server that
// only this machine can reach, and otherwise in requests that a browser marks as those of a
// page.
func (p *Plugin) checkHost(next http.Handler) http.Handler {
	if p.cfg.protected() || slices.Contains(p.cfg.AllowedHosts, anyHost) {
		return next
	}
	self, err := os.Hostname()
	if err != nil {
		p.Log.Debug("cannot read the host name", "error", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostOf(r.Host)
		if !p.cfg.trusts(host, self) && (p.onLoopback(r) || fromPage(r)) {
			WriteError(w, http.StatusForbidden, fmt.Errorf("unknown host %q: expected an IP address, localhost, the name of this host, or a name of allowed-hosts in http.conf", host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostOf returns a host without its port and in lower case.
func hostOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// trusts reports whether no web site can have this host. Names without dots belong to the
// local network.
func (c Config) trusts(host, self string) bool {
	if net.ParseIP(host) != nil || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if self = strings.ToLower(self); self != "" && strings.HasPrefix(host+".", self+".") {
		return true
	}
	return slices.ContainsFunc(c.AllowedHosts, func(name string) bool { return strings.EqualFold(name, host) })
}

// onLoopback reports whether a request came to a listener that only this machine can reach by
// TCP.
func (p *Plugin) onLoopback(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	listens, tcp := p.Addr().(*net.TCPAddr)
	return ok && tcp && at.IP.IsLoopback() && listens.IP.IsLoopback()
}

// fromPage reports whether a browser says that a page made a request.
func fromPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Header.Get("Origin") != "" || site != "" && site != "none"
}
