// Package statsegtest serves stats segments made for a test, in the way VPP
// serves its own: the layout comes from src/vlib/stats/shared.h of VPP.
package statsegtest

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg"
)

const (
	base      = 0x1000_0000
	entrySize = 144
	header    = 64
)

// Builder puts a segment together. The zero value is empty.
type Builder struct {
	entries []byte
	data    []byte
	names   []string
}

func put(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// vector appends a vector and returns a pointer to it.
func (b *Builder) vector(elements int, data []byte) uint64 {
	b.data = put(b.data, uint64(elements))
	at := uint64(header + len(b.data))
	b.data = append(b.data, data...)
	for len(b.data)%8 != 0 {
		b.data = append(b.data, 0)
	}
	return base + at
}

// Entry adds a line to the directory, with whatever value.
func (b *Builder) Entry(name string, kind statseg.Kind, value uint64) *Builder {
	line := binary.NativeEndian.AppendUint32(nil, uint32(kind))
	line = put(append(line, 0, 0, 0, 0), value)
	line = append(line, name...)
	b.entries = append(b.entries, append(line, make([]byte, entrySize-len(line))...)...)
	b.names = append(b.names, name)
	return b
}

// Scalar adds a value.
func (b *Builder) Scalar(name string, v uint64) *Builder { return b.Entry(name, statseg.Scalar, v) }

// Simple adds counters, a vector per thread.
func (b *Builder) Simple(name string, threads ...[]uint64) *Builder {
	var pointers []byte
	for _, values := range threads {
		pointers = put(pointers, b.vector(len(values), put(nil, values...)))
	}
	return b.Entry(name, statseg.Simple, b.vector(len(threads), pointers))
}

// Combined adds counters of packets and bytes, a vector per thread.
func (b *Builder) Combined(name string, threads ...[]statseg.Count) *Builder {
	var pointers []byte
	for _, counts := range threads {
		var data []byte
		for _, c := range counts {
			data = put(data, c.Packets, c.Bytes)
		}
		pointers = put(pointers, b.vector(len(counts), data))
	}
	return b.Entry(name, statseg.Combined, b.vector(len(threads), pointers))
}

// Names adds texts; an empty one becomes a null pointer.
func (b *Builder) Names(name string, texts ...string) *Builder {
	var pointers []byte
	for _, t := range texts {
		var p uint64
		if t != "" {
			p = b.vector(len(t)+1, append([]byte(t), 0))
		}
		pointers = put(pointers, p)
	}
	return b.Entry(name, statseg.Names, b.vector(len(texts), pointers))
}

// Symlink adds a link to an element of an entry that was added before.
func (b *Builder) Symlink(name, target string, element uint32) *Builder {
	for n, known := range b.names {
		if known == target {
			return b.Entry(name, statseg.Symlink, uint64(n)|uint64(element)<<32)
		}
	}
	return b.Entry(name, statseg.Symlink, uint64(len(b.names)+1000))
}

// Bytes returns the segment, at rest in its first epoch.
func (b *Builder) Bytes() []byte {
	directory := b.vector(len(b.names), b.entries)
	out := put(nil, 2, base, 1, 0, directory)
	out = append(out, make([]byte, header-len(out))...)
	return append(out, b.data...)
}

// Server listens instead of VPP. Its methods may be called
// concurrently.
type Server struct {
	// Socket is the path of the socket.
	Socket string

	tb       testing.TB
	mu       sync.Mutex
	file     *os.File
	opened   int
	listener *net.UnixListener
	done     chan struct{}
}

// Serve serves a segment until the end of the test.
func Serve(tb testing.TB, segment []byte) *Server {
	tb.Helper()
	dir, err := os.MkdirTemp("", "statseg") // TempDir of tb is too long for a socket
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{Socket: filepath.Join(dir, "stats.sock"), tb: tb}
	s.Replace(segment)
	s.Start()
	tb.Cleanup(func() {
		s.Stop()
		_ = s.file.Close()
	})
	return s
}

// Start listens, again after Stop.
func (s *Server) Start() {
	s.tb.Helper()
	listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Net: "unixpacket", Name: s.Socket})
	if err != nil {
		s.tb.Fatal(err)
	}
	s.listener, s.done = listener, make(chan struct{})
	go s.serve(listener, s.done)
}

// Stop does what the end of VPP does.
func (s *Server) Stop() {
	if s.listener == nil {
		return
	}
	_ = s.listener.Close()
	<-s.done
	s.listener = nil
}

// Replace serves another segment from now on.
func (s *Server) Replace(segment []byte) {
	s.tb.Helper()
	file, err := os.CreateTemp(filepath.Dir(s.Socket), "segment")
	if err == nil {
		_, err = file.Write(segment)
	}
	if err != nil {
		s.tb.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		_ = s.file.Close()
	}
	s.file = file
}

// Poke overwrites a word of the segment that is being served: word 2 is the
// epoch, word 3 reports that the directory is being changed.
func (s *Server) Poke(word int, value uint64) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.file.WriteAt(put(nil, value), int64(word)*8); err != nil {
		s.tb.Error(err)
	}
}

// Opened is how often the segment was handed out.
func (s *Server) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

func (s *Server) serve(listener *net.UnixListener, done chan struct{}) {
	defer close(done)
	for {
		conn, err := listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.tb.Errorf("stats socket: %v", err)
			return
		}
		s.mu.Lock()
		s.opened++
		err = send(conn, syscall.UnixRights(int(s.file.Fd())))
		s.mu.Unlock()
		if err = errors.Join(err, conn.Close()); err != nil {
			s.tb.Logf("stats socket: %v", err)
		}
	}
}

// send sends a control message without a byte of data, as VPP does; package net
// would add one.
func send(conn *net.UnixConn, oob []byte) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	err = raw.Write(func(fd uintptr) bool {
		message := syscall.Msghdr{Control: &oob[0]}
		message.SetControllen(len(oob))
		_, _, errno = syscall.Syscall(syscall.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&message)), 0)
		return errno != syscall.EAGAIN
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return err
}
