package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Connections starts a proxy of the connections to a socket, which it owns.
func Connections(l net.Listener, dial Dial, s Settings) *Proxy {
	p := newProxy(dial, s)
	p.open(l)
	places := make(chan struct{}, s.Sessions)
	p.work.Go(func() {
		p.receive(func() error {
			select {
			case places <- struct{}{}:
			case <-p.ctx.Done():
				return p.ctx.Err()
			}
			client, err := l.Accept()
			if err != nil {
				<-places
				return err
			}
			p.work.Go(func() {
				defer func() { <-places }()
				p.connection(client)
			})
			return nil
		})
	})
	return p
}

// connection forwards one connection until both directions have ended, or one has failed.
func (p *Proxy) connection(client net.Conn) {
	if !p.open(client) {
		return
	}
	defer p.close(client)
	server, err := p.reach(client.RemoteAddr(), p.dial.Load())
	if err != nil || !p.open(server) {
		return
	}
	defer p.close(server)
	p.active.Add(1)
	defer p.active.Add(-1)
	var both sync.WaitGroup
	forward := func(to, from net.Conn, count *atomic.Uint64) {
		if err := pump(to, from, count); err != nil {
			_ = to.Close() // the other direction ends, too
			_ = from.Close()
		}
	}
	both.Go(func() { forward(server, client, &p.received) })
	forward(client, server, &p.sent)
	both.Wait()
}

// pump forwards one direction of a connection, with its end.
func pump(to, from net.Conn, count *atomic.Uint64) error {
	if _, err := io.Copy(counting{to, count}, from); err != nil {
		return err
	}
	half, ok := to.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// counting counts what is written.
type counting struct {
	io.Writer
	count *atomic.Uint64
}

// Write writes and counts.
func (c counting) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.count.Add(uint64(n))
	return n, err
}
