package accounts

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// freeAttempts is how many wrong passwords a client may send without a delay. Each further
	// one doubles the delay, from firstDelay to maxDelay.
	freeAttempts = 20
	firstDelay   = time.Second
	maxDelay     = time.Minute
	// forgetAfter is the time without a wrong password after which a client is forgotten.
	forgetAfter = 10 * time.Minute
	// maxClients limits the memory. Further clients share one delay.
	maxClients = 8192
)

// TooManyError reports that a client has to wait before it may send another password.
type TooManyError struct{ Wait time.Duration }

// Error says how long the client has to wait.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("too many wrong passwords from this address; try again in %v", e.Wait.Round(time.Second))
}

// Attempts delays clients that send wrong passwords, by address. It may be used concurrently.
type Attempts struct {
	now func() time.Time

	mu      sync.Mutex
	clients map[string]*attempts
}

type attempts struct {
	failed int // also those whose result is not known yet
	last   time.Time
}

// NewAttempts returns attempts without clients; now is the clock.
func NewAttempts(now func() time.Time) *Attempts {
	return &Attempts{now: now, clients: map[string]*attempts{}}
}

// begin counts an attempt of a client. It returns an error if the client has to wait.
func (a *Attempts) begin(client string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	c := a.clients[client]
	if c == nil {
		if client = a.room(client, now); a.clients[client] == nil {
			a.clients[client] = &attempts{}
		}
		c = a.clients[client]
	}
	if now.Sub(c.last) > forgetAfter {
		c.failed = 0
	}
	if over := c.failed - freeAttempts; over >= 0 {
		delay := maxDelay
		if over < 6 {
			delay = min(maxDelay, firstDelay<<over)
		}
		if wait := delay - now.Sub(c.last); wait > 0 {
			return &TooManyError{wait}
		}
	}
	c.failed++
	c.last = now
	return nil
}

// room returns the name under which a new client is counted.
func (a *Attempts) room(client string, now time.Time) string {
	if len(a.clients) < maxClients {
		return client
	}
	for name, c := range a.clients {
		if now.Sub(c.last) > forgetAfter {
			delete(a.clients, name)
		}
	}
	if len(a.clients) < maxClients {
		return client
	}
	return "others"
}

// succeeded forgets the wrong passwords of a client.
func (a *Attempts) succeeded(client string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.clients, client)
}

// ipv6Client is the length of the IPv6 prefix that identifies a client: a host
// can usually choose from a network of this size.
const ipv6Client = 64

// Client returns the client of a remote address, "host:port". Addresses without
// a port, as of unix sockets, count as one client.
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
