package nlsim

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// The sockets of the simulator are Unix sockets without a path, whatever they are said to be: so
// they carry data, and nothing of this host is used up. The kernel gives each its address.

// sockets is the part of a handle that opens sockets.
type sockets struct{ *lease }

// port is what a socket of a namespace listens on; the namespace of a path is nil.
type port struct {
	ns      *space
	network string
	address string
}

// portOf returns the port to listen on, without the IP version and the address.
func (s sockets) portOf(network, address string) port {
	if strings.HasPrefix(network, "unix") {
		return port{nil, "unix", address}
	}
	_, number, _ := net.SplitHostPort(address)
	return port{s.ns, strings.TrimRight(network, "46"), number}
}

// Listen makes a socket for connections.
func (s sockets) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	var l net.Listener
	at, err := s.listen(ctx, "Listen", network, address, func() (_ net.Addr, err error) {
		l, err = (&net.ListenConfig{}).Listen(context.WithoutCancel(ctx), "unix", "")
		if err != nil {
			return nil, err
		}
		return l.Addr(), nil
	})
	if err != nil {
		return nil, err
	}
	return &listener{l, s.k.leave(at)}, nil
}

// ListenPacket makes a socket for datagrams.
func (s sockets) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	var c net.PacketConn
	at, err := s.listen(ctx, "ListenPacket", network, address, func() (_ net.Addr, err error) {
		c, err = (&net.ListenConfig{}).ListenPacket(context.WithoutCancel(ctx), "unixgram", "")
		if err != nil {
			return nil, err
		}
		return c.LocalAddr(), nil
	})
	if err != nil {
		return nil, err
	}
	return &packets{c, s.k.leave(at)}, nil
}

// listen takes a port for a socket that open makes.
func (s sockets) listen(ctx context.Context, op, network, address string, open func() (net.Addr, error)) (port, error) {
	at := s.portOf(network, address)
	if err := s.gate.Allow(ctx); err != nil {
		return at, err
	}
	err := s.k.change(op, func() error {
		if _, taken := s.k.ports[at]; taken {
			return fmt.Errorf("%s: %w: the address is in use", address, netlinkapi.ErrExists)
		}
		real, err := open()
		if err != nil {
			return err
		}
		s.k.ports[at] = real.String()
		return nil
	})
	return at, err
}

// leave returns a function that gives a port back.
func (k *Kernel) leave(at port) func() {
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.ports, at)
	})
}

// Dial connects a socket.
func (s sockets) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := s.gate.Allow(ctx); err != nil {
		return nil, err
	}
	real := ""
	err := s.k.read("Dial", func() error {
		real = s.k.ports[s.portOf(network, address)]
		if real == "" {
			return fmt.Errorf("%s: %w", address, unix.ECONNREFUSED)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{}
	if network != "unixgram" && !strings.HasPrefix(network, "udp") {
		return dialer.DialContext(ctx, "unix", real)
	}
	dialer.Control = func(_, _ string, c syscall.RawConn) (err error) {
		if failed := c.Control(func(fd uintptr) { err = unix.Bind(int(fd), &unix.SockaddrUnix{}) }); failed != nil {
			return failed
		}
		return err
	}
	return dialer.DialContext(ctx, "unixgram", real)
}

type listener struct {
	net.Listener
	leave func()
}

// Close closes the socket.
func (l *listener) Close() error { l.leave(); return l.Listener.Close() }

type packets struct {
	net.PacketConn
	leave func()
}

// Close closes the socket.
func (p *packets) Close() error { p.leave(); return p.PacketConn.Close() }
