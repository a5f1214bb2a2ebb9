package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// A socket belongs to the namespace of the thread that makes it, whatever thread uses it later.
// Package net makes the socket of one address on the thread of its caller.

const (
	networkUnix     = "unix"
	networkUnixgram = "unixgram"
)

// sockets is the part of a handle that opens sockets.
type sockets struct{ *lease }

// Listen makes a socket for connections; see netlinkapi.Sockets.
func (s sockets) Listen(ctx context.Context, network, address string) (l net.Listener, err error) {
	listen := net.ListenConfig{}
	if network != networkUnix {
		listen.Control = beforeAddress
	}
	err = s.open(ctx, "listen", address, func() (err error) {
		l, err = listen.Listen(context.WithoutCancel(ctx), network, address)
		if stale(network, address, err) && os.Remove(address) == nil {
			l, err = listen.Listen(context.WithoutCancel(ctx), network, address)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false) // the file at the path may belong to another process then
		return &pathListener{l, pathOf(address)}, nil
	}
	return l, nil
}

// ListenPacket makes a socket for datagrams; see netlinkapi.Sockets.
func (s sockets) ListenPacket(ctx context.Context, network, address string) (c net.PacketConn, err error) {
	listen := net.ListenConfig{}
	if network != networkUnixgram {
		listen.Control = func(network, address string, c syscall.RawConn) error {
			return errors.Join(wantDestination(network, address, c), beforeAddress(network, address, c))
		}
	}
	err = s.open(ctx, "listen", address, func() (err error) {
		c, err = listen.ListenPacket(context.WithoutCancel(ctx), network, address)
		if stale(network, address, err) && os.Remove(address) == nil {
			c, err = listen.ListenPacket(context.WithoutCancel(ctx), network, address)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if udp, ok := c.(*net.UDPConn); ok {
		return &datagrams{udp}, nil
	}
	return &pathPackets{c, pathOf(address)}, nil
}

// Dial connects a socket; see netlinkapi.Sockets.
func (s sockets) Dial(ctx context.Context, network, address string) (c net.Conn, err error) {
	dialer := net.Dialer{FallbackDelay: -1}
	if network == networkUnixgram {
		dialer.Control = autobind
	}
	err = s.open(ctx, "connect to", address, func() (err error) {
		c, err = dialer.DialContext(ctx, network, address)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// open runs f, which makes a socket, on a thread in the namespace.
func (s sockets) open(ctx context.Context, op, address string, f func() error) error {
	err := s.gate.Allow(ctx)
	switch {
	case err != nil:
		return err
	case current(s.ns.id):
		err = f()
	default:
		err = inNamespace(s.ns.file, f)
	}
	return classifySocket(op, address, err)
}

// stale reports whether the path is a Unix socket that no process has open.
func stale(network, path string, err error) bool {
	if !errors.Is(err, unix.EADDRINUSE) || network != networkUnix && network != networkUnixgram {
		return false
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	c, err := net.Dial(network, path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, unix.ECONNREFUSED)
}

// classifySocket adds the sentinels that the operations of sockets have.
func classifySocket(op, address string, err error) error {
	switch {
	case err == nil:
		return nil
	case is(err, unix.EADDRINUSE):
		return fmt.Errorf("%s %s: %w: the address is in use", op, address, netlinkapi.ErrExists)
	case is(err, unix.EACCES, unix.EPERM):
		return fmt.Errorf("%s %s: %w: %w", op, address, netlinkapi.ErrPermission, err)
	case errors.Is(err, netlinkapi.ErrNamespaceGone):
		return err
	}
	return fmt.Errorf("%s %s: %w", op, address, err)
}

// autobind gives a Unix socket an address that the kernel chooses.
func autobind(_, _ string, c syscall.RawConn) error {
	return control(c, func(fd int) error { return unix.Bind(fd, &unix.SockaddrUnix{}) })
}

// wantDestination makes the kernel report the address that a datagram was sent to.
func wantDestination(network, _ string, c syscall.RawConn) error {
	return control(c, func(fd int) error {
		if network == "udp4" {
			return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
		}
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	})
}

// beforeAddress lets a socket listen on an address that no link has yet.
func beforeAddress(network, _ string, c syscall.RawConn) error {
	return control(c, func(fd int) error {
		if strings.HasSuffix(network, "4") {
			return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_FREEBIND, 1)
		}
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1)
	})
}

func control(c syscall.RawConn, f func(fd int) error) (err error) {
	return errors.Join(c.Control(func(fd uintptr) { err = f(int(fd)) }), err)
}

// path is the path of a Unix socket.
type path struct {
	name string
	file fs.FileInfo // nil: it was deleted at once
}

func pathOf(name string) path {
	file, _ := os.Lstat(name)
	return path{name, file}
}

// HasPath reports whether the path leads to the socket; see netlinkapi.PathSocket.
func (p path) HasPath() bool {
	now, err := os.Lstat(p.name)
	return err == nil && p.file != nil && os.SameFile(now, p.file)
}

// remove deletes the path, if it still belongs to the socket.
func (p path) remove() {
	if p.HasPath() {
		_ = os.Remove(p.name) // another process may be faster
	}
}

type pathListener struct {
	net.Listener
	path
}

// Close closes the socket and deletes its path.
func (l *pathListener) Close() error { l.remove(); return l.Listener.Close() }

type pathPackets struct {
	net.PacketConn
	path
}

// Close closes the socket and deletes its path.
func (p *pathPackets) Close() error { p.remove(); return p.PacketConn.Close() }
