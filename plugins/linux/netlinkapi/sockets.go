package netlinkapi

import (
	"context"
	"net"
	"net/netip"
)

// Sockets opens sockets in a namespace. The network is "tcp", "tcp4" or "tcp6", for datagrams
// "udp", "udp4" or "udp6", with an IP address and a port; or "unix", for datagrams "unixgram",
// with an absolute path, which does not depend on the namespace. A socket keeps its namespace
// alive until it is closed.
type Sockets interface {
	// Listen makes a socket for connections. A link may get the address later. ErrExists if the
	// port or the path is in use; the path of a Unix socket that no process has open is not.
	// Close deletes the path.
	// Equivalent to: `nc -lk ADDRESS PORT`
	Listen(ctx context.Context, network, address string) (net.Listener, error)
	// ListenPacket makes a socket for datagrams, like Listen. What is sent to the sender of a
	// datagram comes from the address that the datagram was sent to.
	// Equivalent to: `nc -lu ADDRESS PORT`
	ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error)
	// Dial connects a socket. One of "unixgram" has an address of its own, so that it receives
	// answers.
	// Equivalent to: `nc ADDRESS PORT`
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// PathSocket is what Listen and ListenPacket return for a Unix socket.
type PathSocket interface {
	// HasPath reports whether the path still leads to the socket.
	HasPath() bool
}

// ClientIP returns the IP address of a client of a socket; invalid if it has none.
func ClientIP(a net.Addr) netip.Addr {
	if at, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		return at.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
