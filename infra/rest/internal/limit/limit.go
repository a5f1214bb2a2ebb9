// Package limit limits the request rate of each client.
package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
)

// maxClients is the maximum number of separately limited clients. Further
// clients share one limit, so that memory does not grow with the number of
// addresses.
const maxClients = 8192

// sweepEvery is the interval of removing idle clients. A sweep for each new
// client would be open to attack.
const sweepEvery = time.Second

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

// Allow reports whether a client may send a request now, and if not, after
// which delay.
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

// forget removes the clients that may send a whole burst, as new clients may.
func (l *Limiter) forget(now time.Time) {
	for name, c := range l.clients {
		if c.TokensAt(now) >= float64(l.burst) {
			delete(l.clients, name)
		}
	}
}

// Client returns the client of a remote address, see accounts.Client.
func Client(remote string) string { return accounts.Client(remote) }
