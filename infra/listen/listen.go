// Package listen opens the listeners of servers: on TCP, and on unix sockets
// with a mode. Errors name the cause and the remedy.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

// TCP listens on an address, host:port; network is tcp, tcp4 or tcp6. If the
// address is in use, the error wraps syscall.EADDRINUSE, names the process
// that uses it, if known, and contains hint, which explains how to choose
// another address.
func TCP(ctx context.Context, network, address, hint string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, network, address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		by := ""
		if who := holder(address); who != "" {
			by = " by " + who
		}
		return nil, fmt.Errorf("listen on %s: the address is in use%s (%s): %w", address, by, hint, syscall.EADDRINUSE)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listen on %s: ports below 1024 need the capability CAP_NET_BIND_SERVICE (%s): %w", address, hint, syscall.EACCES)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return ln, nil
}

// CheckEndpoint validates the configuration key endpoint: host:port.
func CheckEndpoint(endpoint string) error {
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return fmt.Errorf("endpoint: %q: expected host:port", endpoint)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("endpoint: port %q: expected a number from 0 to 65535", port)
	}
	return nil
}

// Socket is a unix socket.
type Socket struct {
	Path string
	Mode os.FileMode // write permission allows to connect
	// Force removes the socket even if a process listens on it.
	Force bool
	// Hint is the remedy if a process listens on the socket.
	Hint string
}

// Listen listens on the socket, whose connections have numbers. It removes a stale socket, but no other file.
func (s Socket) Listen(ctx context.Context) (net.Listener, error) {
	if err := s.makeRoom(ctx); err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "unix", s.Path)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := os.Chmod(s.Path, s.Mode); err != nil {
		_ = ln.Close() // no client has been served there
		return nil, fmt.Errorf("permission: %w", err)
	}
	info, err := os.Stat(s.Path)
	if err != nil {
		_ = ln.Close() // no client has been served there
		return nil, fmt.Errorf("socket: %w", err)
	}
	if u, ok := ln.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	return &socketListener{Listener: ln, path: s.Path, own: info}, nil
}

// socketListener removes its socket when it is closed, unless another process
// has replaced it.
type socketListener struct {
	net.Listener
	path     string
	own      os.FileInfo
	accepted atomic.Uint64
}

// Accept waits for a connection. Its remote address is the number of the connection,
// such as unix-socket:7: the peers of a unix socket have no addresses.
func (l *socketListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return peer{conn, l.accepted.Add(1)}, nil
}

// peer is a numbered connection, and its own remote address.
type peer struct {
	net.Conn
	number uint64
}

func (p peer) RemoteAddr() net.Addr { return p }

func (peer) Network() string { return "unix" }

func (p peer) String() string { return fmt.Sprintf("unix-socket:%d", p.number) }

func (l *socketListener) Close() error {
	if info, err := os.Lstat(l.path); err == nil && os.SameFile(info, l.own) {
		_ = os.Remove(l.path) // the next listener removes it too
	}
	return l.Listener.Close()
}

func (s Socket) makeRoom(ctx context.Context) error {
	info, err := os.Lstat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket; remove it or choose another path", s.Path)
	}
	if !s.Force {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", s.Path)
		if err == nil {
			_ = conn.Close() // it was opened only to test whether a process listens
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("%s is in use by another process (%s): %w", s.Path, s.Hint, syscall.EADDRINUSE)
		}
	}
	if err := os.Remove(s.Path); err != nil {
		return fmt.Errorf("remove the stale socket: %w", err)
	}
	return nil
}
