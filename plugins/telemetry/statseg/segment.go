// Package statseg reads the stats segment of VPP, the memory in which VPP keeps
// its counters for other processes. VPP only has to pass the file descriptor, once
// per Open.
//
// The segment changes while it is read, also its directory, so nothing found in
// it can be trusted: here it is read as a file (pread), never mapped, with every
// pointer and length checked. The worst that a damaged segment can do is an
// error. A change of the directory changes its epoch; Read starts again if the epoch
// has changed meanwhile.
//
// The layout comes from src/vlib/stats/shared.h of VPP, version 2, the same in all
// releases from 22.10 to 26.06; 26.02 added types of entries.
package statseg

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	version    = 2
	headerSize = 5 * 8
	entrySize  = 144
	nameSize   = 128

	// attempts and pause bound how long Read waits for a directory at rest. VPP
	// changes it for microseconds, but whole series of times at its start.
	attempts = 20
	pause    = 5 * time.Millisecond
)

// ErrBusy reports that VPP changed the directory during every attempt to read it.
var ErrBusy = errors.New("the directory of the stats segment keeps changing")

// errDamaged is the cause of errors about pointers and lengths.
var errDamaged = errors.New("damaged stats segment")

// Segment is an open stats segment. It stays readable when VPP ends, and then
// never changes again: open it again for news. It is for one goroutine.
type Segment struct {
	file *os.File
	size uint64
}

// Open asks the VPP that listens on a unix socket for its stats segment. It
// waits for VPP's main thread no longer than ctx allows.
func Open(ctx context.Context, socket string) (*Segment, error) {
	s, err := open(ctx, socket)
	if err != nil {
		return nil, fmt.Errorf("stats segment %s: %w", socket, err)
	}
	return s, nil
}

func open(ctx context.Context, socket string) (*Segment, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unixpacket", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	file, err := receive(conn.(*net.UnixConn))
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("VPP does not hand it out: %w", context.Cause(ctx))
		}
		return nil, err
	}
	return newSegment(file)
}

// newSegment takes the file over.
func newSegment(file *os.File) (*Segment, error) {
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() < headerSize) {
		err = fmt.Errorf("%w: expected a file of at least %d bytes, got %v with %d", errDamaged, headerSize, info.Mode(), info.Size())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Segment{file: file, size: uint64(info.Size())}, nil
}

// receive takes the one file that VPP sends.
func receive(conn *net.UnixConn) (*os.File, error) {
	oob := make([]byte, 256)
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 64), oob)
	if errors.Is(err, io.EOF) && n > 0 { // VPP sends the file and not a single byte
		err = nil
	}
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	var fds []int
	for _, m := range messages {
		if m.Header.Level != syscall.SOL_SOCKET || m.Header.Type != syscall.SCM_RIGHTS {
			continue
		}
		some, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return nil, fmt.Errorf("control message: %w", err)
		}
		fds = append(fds, some...)
	}
	if len(fds) != 1 {
		for _, fd := range fds {
			_ = syscall.Close(fd)
		}
		return nil, fmt.Errorf("expected one file from VPP, got %d", len(fds))
	}
	return os.NewFile(uintptr(fds[0]), "stats segment"), nil
}

// Close releases the segment.
func (s *Segment) Close() error { return s.file.Close() }

// header is the beginning of the segment.
type header struct{ version, base, epoch, inProgress, directory uint64 }

func (s *Segment) header() (header, error) {
	var b [headerSize]byte
	if _, err := s.file.ReadAt(b[:], 0); err != nil {
		return header{}, fmt.Errorf("header: %w", err)
	}
	word := func(n int) uint64 { return binary.NativeEndian.Uint64(b[n*8:]) }
	h := header{word(0), word(1), word(2), word(3), word(4)}
	if h.version != version {
		return h, fmt.Errorf("stats segment has version %d, expected %d", h.version, version)
	}
	return h, nil
}

// Read calls f with the directory, and again as long as VPP changed it
// meanwhile, so f must begin again each time. It returns the error of f if the
// directory was at rest, ErrBusy if it never was, or ctx's error.
func (s *Segment) Read(ctx context.Context, f func(*Directory) error) error {
	for n := range attempts {
		if n > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		before, err := s.header()
		if err != nil {
			return err
		}
		if before.inProgress != 0 {
			continue
		}
		failed := s.read(before, f)
		after, err := s.header()
		if err != nil {
			return err
		}
		if after == before {
			return failed
		}
	}
	return ErrBusy
}

func (s *Segment) read(h header, f func(*Directory) error) error {
	d, err := newDirectory(s, h)
	if err != nil {
		return err
	}
	return f(d)
}
