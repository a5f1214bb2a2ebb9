package rest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
)

// anyHost in allowed-hosts allows all names.
const anyHost = "*"

// checkHost protects a server without credentials from a web site whose name resolves to the
// address of the server (DNS rebinding). A browser regards such a site and the server as the
// same origin, so the name is the only difference. It refuses unknown names of a server that
// only this machine can reach, and otherwise in requests of browsers: other clients send no
// requests for web sites, and may use names that the server cannot know, such as the name of
// a service. Over TLS the browser has compared the name with the certificate.
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
		if r.TLS == nil && !p.trusts(host, self) && (p.onLoopback(r) || fromBrowser(r)) {
			WriteError(w, http.StatusForbidden, fmt.Errorf("unknown host %q: a web site that attacks the agent through a browser may have this name (DNS rebinding). "+
				"Add it to allowed-hosts in http.conf, set users there, or use an IP address, localhost or the name of this host", host))
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
func (p *Plugin) trusts(host, self string) bool {
	if net.ParseIP(host) != nil || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if self = strings.ToLower(self); self != "" && strings.HasPrefix(host+".", self+".") {
		return true
	}
	same := func(name string) bool { return strings.EqualFold(name, host) }
	return slices.ContainsFunc(p.cfg.AllowedHosts, same) || slices.ContainsFunc(p.allowed(), same)
}

// AllowHosts adds names by which the server may be addressed, as allowed-hosts in http.conf
// does. It may be called at any time.
func (p *Plugin) AllowHosts(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts = append(p.hosts, names...)
}

func (p *Plugin) allowed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.hosts)
}

// onLoopback reports whether a request came to a listener that only this machine can reach by
// TCP.
func (p *Plugin) onLoopback(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	listens, tcp := p.Addr().(*net.TCPAddr)
	return ok && tcp && at.IP.IsLoopback() && listens.IP.IsLoopback()
}

// fromBrowser reports whether a browser makes a request for a page. Over HTTP a browser sends
// no Sec-Fetch-Site, and no Origin with a GET of the page's own origin. But it sends
// Accept-Language. Scripts can change its value, and User-Agent in some browsers, but cannot
// remove it.
func fromBrowser(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "none": // the user typed the address
		return false
	case "":
	default:
		return true
	}
	_, language := r.Header["Accept-Language"]
	return language || r.Header.Get("Origin") != "" || strings.HasPrefix(r.UserAgent(), "Mozilla/")
}

// sameOrigin protects users of browsers from other web sites: they may not change anything,
// and not read, as JavaScript or an image for example, what browsers request with the passwords
// that they remember. Users may follow links of other web sites.
func sameOrigin(next http.Handler) http.Handler {
	c := http.NewCrossOriginProtection()
	c.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		WriteError(w, http.StatusForbidden, errors.New("requests from other web sites may not change anything"))
	}))
	next = c.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && embedded(r) {
			w.Header().Set("X-Frame-Options", "DENY") // a frame shows not even the error
			WriteError(w, http.StatusForbidden, errors.New("pages of other web sites may not read anything; open the address in a window of its own"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// embedded reports whether a page of another origin makes a request, other than a link that the
// user followed.
func embedded(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		origin := r.Header.Get("Origin")
		if origin == "" {
			return false
		}
		u, err := url.Parse(origin)
		return err != nil || !strings.EqualFold(u.Host, r.Host)
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}
