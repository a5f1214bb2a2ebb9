package grpc

import (
	"net"
	"sync"
)

// connections is a listener that can close its connections. The gRPC server knows
// connections only after their handshake, and would wait for unfinished
// handshakes.
type connections struct {
	net.Listener

	mu   sync.Mutex
	open map[*connection]struct{}
	cut  bool
}

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
		_ = raw.Close() // the server gets the error
	}
	return conn, nil
}

// Close closes the connection and removes it from the listener.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// cutOff closes all connections, present and future.
func (c *connections) cutOff() {
	c.mu.Lock()
	c.cut = true
	open := c.open
	c.open = map[*connection]struct{}{}
	c.mu.Unlock()
	for conn := range open {
		_ = conn.Conn.Close() // its user gets the error
	}
}
