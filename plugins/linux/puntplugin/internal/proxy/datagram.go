package proxy

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// maxDatagram is the size of the largest datagram.
const maxDatagram = 1 << 16

// answerTimeout is how long a Unix socket of a client may have no room for an answer.
const answerTimeout = time.Second

// session forwards the datagrams of one client, with a socket of its own, so that the answers
// are known to be for that client.
type session struct {
	net.Conn
	client net.Addr
	used   atomic.Int64 // when a datagram was forwarded last, in nanoseconds
}

// relay is a proxy of datagrams.
type relay struct {
	*Proxy
	socket net.PacketConn

	mu       sync.Mutex
	sessions map[string]*session // by the address of the client
}

// Datagrams starts a proxy of the datagrams that a socket receives, which it owns.
func Datagrams(c net.PacketConn, dial Dial, s Settings) *Proxy {
	r := &relay{Proxy: newProxy(dial, s), socket: c, sessions: map[string]*session{}}
	r.open(c)
	buffer := make([]byte, maxDatagram)
	r.work.Go(func() {
		r.receive(func() error {
			n, client, err := c.ReadFrom(buffer)
			if err == nil {
				r.forward(client, buffer[:n])
			}
			return err
		})
	})
	return r.Proxy
}

// forward sends a datagram of a client to the other side.
func (r *relay) forward(client net.Addr, datagram []byte) {
	const attempts = 2 // a session may have ended, or the other side may have restarted
	for range attempts {
		s := r.session(client)
		if s == nil {
			break
		}
		s.used.Store(time.Now().UnixNano())
		if _, err := s.Write(datagram); err == nil {
			r.received.Add(uint64(len(datagram)))
			return
		}
		_ = s.Close()
		r.forget(s)
	}
	r.dropped.Add(1)
}

// name identifies a client. All those without an address are one.
func name(client net.Addr) string {
	if client == nil {
		return ""
	}
	return client.String()
}

// session returns the session of a client, new if there is none; nil if that cannot be.
func (r *relay) session(client net.Addr) *session {
	r.mu.Lock()
	s, n := r.sessions[name(client)], len(r.sessions)
	r.mu.Unlock()
	if s != nil || n >= r.settings.Sessions {
		return s
	}
	dial := r.dial.Load()
	conn, err := r.reach(client, dial)
	if err != nil {
		return nil
	}
	s = &session{Conn: conn, client: client}
	s.used.Store(time.Now().UnixNano())
	if !r.open(s) {
		return nil
	}
	r.mu.Lock()
	r.sessions[name(client)] = s
	r.mu.Unlock()
	r.active.Add(1)
	r.work.Go(func() { r.answer(s) })
	if r.dial.Load() != dial { // Redirect may not have seen the session
		_ = s.Close()
	}
	return s
}

// answer sends the answers to a client, until there have been no datagrams for a while.
func (r *relay) answer(s *session) {
	defer r.end(s)
	buffer := make([]byte, maxDatagram)
	for {
		if s.SetReadDeadline(time.Unix(0, s.used.Load()).Add(r.settings.Idle)) != nil {
			return
		}
		n, err := s.Read(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) && time.Since(time.Unix(0, s.used.Load())) < r.settings.Idle {
			continue // the client has sent something meanwhile
		}
		if err != nil {
			return
		}
		s.used.Store(time.Now().UnixNano())
		if r.send(s.client, buffer[:n]) != nil {
			r.dropped.Add(1)
			continue
		}
		r.sent.Add(uint64(n))
	}
}

// errNoAddress is the reason why an answer is not sent.
var errNoAddress = errors.New("the client has no address")

// send sends an answer to a client.
func (r *relay) send(client net.Addr, answer []byte) error {
	if name(client) == "" {
		return errNoAddress
	}
	if _, unix := r.socket.LocalAddr().(*net.UnixAddr); unix {
		if err := r.socket.SetWriteDeadline(time.Now().Add(answerTimeout)); err != nil {
			return err
		}
	}
	_, err := r.socket.WriteTo(answer, client)
	return err
}

// end ends a session.
func (r *relay) end(s *session) {
	r.close(s)
	r.forget(s)
	r.active.Add(-1)
}

// forget makes the next datagram of the client begin a session.
func (r *relay) forget(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[name(s.client)] == s {
		delete(r.sessions, name(s.client))
	}
}
