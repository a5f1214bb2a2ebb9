package kvtest

import (
	"maps"
	"net"
	"sync"
	"testing"
)

// Proxy forwards connections between clients and a server, and can drop all
// traffic.
type Proxy struct {
	Addr string // where clients connect to

	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	target string
	gate   chan struct{} // closed when traffic may pass
	conns  map[net.Conn]bool
	lapsed map[net.Conn]bool // see Forget
	ended  bool
}

// NewProxy starts a proxy to a TCP address. It ends with the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, listener: l, gate: make(chan struct{}), conns: map[net.Conn]bool{}, lapsed: map[net.Conn]bool{}}
	close(p.gate)
	p.wg.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Partition drops all traffic until heal is called, without closing
// connections.
func (p *Proxy) Partition() (heal func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gate := make(chan struct{})
	p.gate = gate
	return sync.OnceFunc(func() { close(gate) })
}

// Forget drops the traffic of the present connections for ever without closing them, as a
// firewall does that has lost its state. New connections work.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.lapsed, p.conns)
}

func (p *Proxy) forgot(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lapsed[c]
}

// Redirect forwards new connections to another address.
func (p *Proxy) Redirect(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Reset resets all connections, as a server does that rejects a request: nothing
// more can be written to them.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
}

func (p *Proxy) open() {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	<-gate
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		if !p.own(c) {
			return
		}
		p.wg.Go(func() { p.serve(c) })
	}
}

// own records a connection, which is closed at the end.
func (p *Proxy) own(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) disown(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	delete(p.lapsed, c)
	_ = c.Close()
}

func (p *Proxy) serve(client net.Conn) {
	defer p.disown(client)
	p.open()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil || !p.own(server) {
		return
	}
	defer p.disown(server)
	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client) })
	both.Go(func() { p.copy(client, server) })
	both.Wait()
}

// copy closes both connections at the end, which ends the other direction.
func (p *Proxy) copy(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.open()
		if n > 0 && !p.forgot(from) {
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.ended = true
	gate := p.gate
	p.mu.Unlock()
	select {
	case <-gate:
	default:
		close(gate)
	}
	p.Cut()
	p.wg.Wait()
}
