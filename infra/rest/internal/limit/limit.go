// Package limit bounds how often each client may ask.
package limit

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxClients bounds the clients that are told apart; further ones share a
// bound, so that memory does not grow with the number of addresses.
const maxClients = 8192

// sweepEvery is how often clients are looked for that need not be remembered;
// looking for each newcomer would be what an attacker wants.
const sweepEvery = time.Second

// ipv6Client is the part of an IPv6 address that is one client: a host has at
// least a network of that size to choose addresses from.
const ipv6Client = 64

// Limiter allows each client a number of requests per second, and as many at
// once as its burst. It may be used concurrently.
type Limiter struct {
	limit rate.Limit
	burst int

	mu      sync.Mutex
	clients map[string]*rate.Limiter
	others  *rate.Limiter
	swept   time.Time
}

// New returns a limiter of perSecond requests per client.
func New(perSecond float64, burst int) *Limiter {
	l := &Limiter{limit: rate.Limit(perSecond), burst: burst, clients: map[string]*rate.Limiter{}}
	l.others = rate.NewLimiter(l.limit, burst)
	return l
}

// Allow tells whether a client may ask now, and if not, after how long.
func (l *Limiter) Allow(client string, now time.Time) (ok bool, wait time.Duration) {
	of := l.of(client, now)
	r := of.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return false, wait
	}
	return true, 0
}

func (l *Limiter) of(client string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.clients[client]; c != nil {
		return c
	}
	if len(l.clients) >= maxClients && now.Sub(l.swept) >= sweepEvery {
		l.forget(now)
		l.swept = now
	}
	if len(l.clients) >= maxClients {
		return l.others
	}
	c := rate.NewLimiter(l.limit, l.burst)
	l.clients[client] = c
	return c
}

// forget drops the clients that may ask for a whole burst: new ones may, too.
func (l *Limiter) forget(now time.Time) {
	for name, c := range l.clients {
		if c.TokensAt(now) >= float64(l.burst) {
			delete(l.clients, name)
		}
	}
}

// Client names the client at a remote address, "host:port". Addresses without a
// port, as of unix sockets, are all one client.
func Client(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return ""
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	p, err := addr.Prefix(ipv6Client)
	if err != nil {
		return host
	}
	return p.String()
}
