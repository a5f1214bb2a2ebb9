// Package wire is the server half of VPP's binary API over a unix socket: frames,
// the handshake with its message table, dispatch to typed handlers, and the ways
// in which a VPP can misbehave. It knows no VPP feature; those register handlers.
//
// All handlers of a server run under one lock, as everything in VPP runs on the
// main thread: a handler sees and changes state without further locking, and
// must not call the exported methods of the Server.
package wire

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"

	"go.fd.io/govpp/api"
)

// ErrClosed is returned by operations on a closed server.
var ErrClosed = errors.New("simulator closed")

// Config adjusts a server; the zero value is usable.
type Config struct {
	// Release restricts the table to these messages, name to CRC; nil means all
	// messages of the bindings.
	Release map[string]string
	// JournalSize is how many requests Journal remembers; 0 keeps none.
	JournalSize int
	// OnDisconnect is called, under the server's lock, when a client is gone.
	OnDisconnect func(client uint32)
	// AfterRequest is called, under the server's lock, after each request.
	AfterRequest func()
}

// Server speaks the binary API with any number of clients.
type Server struct {
	cfg Config

	mu        sync.Mutex
	table     *table
	conns     map[uint32]*conn // by client index, connected and not
	all       map[*conn]struct{}
	listeners []*listener
	journal   journal
	hung      chan struct{}
	hanging   chan struct{} // see Hanging
	hangAt    hangAt
	alter     func(api.Message) // see Alter
	boot      int
	down      bool
	closed    bool

	work sync.WaitGroup
}

// listener is a socket being accepted from. Those opened by path close when the
// simulated VPP dies and reopen when it starts again.
type listener struct {
	path string
	net  net.Listener
}

// New returns a server without listeners.
func New(cfg Config) *Server {
	return &Server{
		cfg:     cfg,
		table:   newTable(cfg.Release),
		conns:   make(map[uint32]*conn),
		all:     make(map[*conn]struct{}),
		hanging: make(chan struct{}),
		journal: journal{ring: make([]journalSlot, cfg.JournalSize)},
	}
}

// Locked runs f like a handler: alone, between two requests.
func (s *Server) Locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Serve accepts clients from ln in the background until Close, which closes ln.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Join(ErrClosed, ln.Close())
	}
	s.start(&listener{net: ln})
	return nil
}

// ListenUnix serves on a unix socket. A file left behind by a process that is
// gone is replaced; a socket that another process answers on is an error.
func (s *Server) ListenUnix(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	ln, err := OpenUnix(path)
	if err != nil {
		return err
	}
	s.start(&listener{path: path, net: ln})
	return nil
}

// start accepts from l; the lock is held.
func (s *Server) start(l *listener) {
	s.listeners = append(s.listeners, l)
	s.accept(l.net)
}

func (s *Server) accept(ln net.Listener) {
	s.work.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			s.connect(nc)
		}
	})
}

// OpenUnix listens on a unix socket, replacing a file that no process answers on. The
// file stays when the listener closes.
func OpenUnix(path string) (*net.UnixListener, error) {
	if probe, err := net.Dial("unix", path); err == nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, syscall.EADDRINUSE), probe.Close())
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove stale socket: %w", err)
		}
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	ln.SetUnlinkOnClose(false) // a dead VPP leaves its socket behind
	return ln, nil
}

// Disconnect closes all connections, keeping everything else, and waits until
// their handlers are done. Clients can connect again at once.
func (s *Server) Disconnect() {
	s.mu.Lock()
	gone := s.dropAll()
	s.mu.Unlock()
	await(gone)
}

// Die makes the server vanish as a crashed VPP does: connections break, sockets
// opened by ListenUnix refuse connections, connections through a listener given to
// Serve are closed at once. Restart brings it back.
func (s *Server) Die() error {
	s.mu.Lock()
	var errs []error
	if !s.down && !s.closed {
		s.down = true
		for _, l := range s.listeners {
			if l.path != "" {
				errs = append(errs, l.net.Close())
			}
		}
	}
	gone := s.dropAll()
	s.mu.Unlock()
	await(gone)
	return errors.Join(errs...)
}

// Restart ends all connections, calls reset with the lock held, renumbers the
// messages as a new start of VPP may, and listens again.
func (s *Server) Restart(reset func()) error {
	if err := s.Die(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.boot++
	s.table.number(s.boot)
	reset()
	for _, l := range s.listeners {
		if l.path == "" {
			continue
		}
		ln, err := OpenUnix(l.path)
		if err != nil {
			return err
		}
		l.net = ln
		s.accept(ln)
	}
	s.down = false
	return nil
}

// Close ends all connections and listeners and waits for everything started.
func (s *Server) Close() error {
	s.mu.Lock()
	var errs []error
	if !s.closed {
		s.closed = true
		for _, l := range s.listeners {
			if err := l.net.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
			if l.path != "" {
				if err := os.Remove(l.path); err != nil && !errors.Is(err, os.ErrNotExist) {
					errs = append(errs, err)
				}
			}
		}
	}
	s.dropAll()
	s.mu.Unlock()
	s.work.Wait()
	return errors.Join(errs...)
}

// dropAll closes every connection; the lock is held.
func (s *Server) dropAll() []*conn {
	gone := make([]*conn, 0, len(s.all))
	for c := range s.all {
		c.shut()
		gone = append(gone, c)
	}
	return gone
}

func await(conns []*conn) {
	for _, c := range conns {
		<-c.finished
	}
}

// Clients returns the indexes of the connected clients, sorted.
func (s *Server) Clients() []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	indexes := make([]uint32, 0, len(s.conns))
	for index := range s.conns {
		indexes = append(indexes, index)
	}
	slices.Sort(indexes)
	return indexes
}
