package grpc

import (
	"net"
	"sync"
)

// connections is a listener that can cut off who is connected. The server itself
// knows connections only after their handshake, and would wait for those that have
// not come so far.
type connections struct {
	net.Listener

	mu   sync.Mutex
	open map[*connection]struct{}
	cut  bool
}

// connection is one that its listener knows.
type connection struct {
	net.Conn
	of *connections
}

func newConnections(ln net.Listener) *connections {
	return &connections{Listener: ln, open: map[*connection]struct{}{}}
}

// Accept waits for a connection.
func (c *connections) Accept() (net.Conn, error) {
	raw, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &connection{raw, c}
	c.mu.Lock()
	cut := c.cut
	if !cut {
		c.open[conn] = struct{}{}
	}
	c.mu.Unlock()
	if cut {
		_ = raw.Close() // the server finds out
	}
	return conn, nil
}

// Close closes the connection and lets the listener forget it.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// cutOff closes all connections, also those that come.
func (c *connections) cutOff() {
	c.mu.Lock()
	c.cut = true
	open := c.open
	c.open = map[*connection]struct{}{}
	c.mu.Unlock()
	for conn := range open {
		_ = conn.Conn.Close() // whoever uses it sees the end
	}
}
