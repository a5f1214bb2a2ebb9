package binapi

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// frameHeader is the size of the header before each message on the socket:
	// u64 queue pointer, u32 payload length (big endian), u32 gc mark. Only
	// the length means something.
	frameHeader = 16
	// minPayload is the smallest message: u16 message ID, u32 context.
	minPayload = 6
	readSize   = 64 << 10
)

// frameReader cuts a byte stream into messages. The payload it returns is
// valid until the next call.
type frameReader struct {
	r          io.Reader
	buf        []byte
	start, end int
	max        int
}

func newFrameReader(r io.Reader, maxPayload int) *frameReader {
	return &frameReader{r: r, buf: make([]byte, readSize), max: maxPayload}
}

// next returns the payload of the next message.
func (f *frameReader) next() ([]byte, error) {
	if err := f.fill(frameHeader); err != nil {
		return nil, err
	}
	size, err := f.payloadSize()
	if err != nil {
		return nil, err
	}
	if err := f.fill(frameHeader + size); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	from := f.start + frameHeader
	f.start = from + size
	return f.buf[from:f.start:f.start], nil
}

// buffered reports whether next would return a message without reading.
func (f *frameReader) buffered() bool {
	if f.end-f.start < frameHeader {
		return false
	}
	size, err := f.payloadSize()
	return err != nil || f.end-f.start >= frameHeader+size
}

func (f *frameReader) payloadSize() (int, error) {
	size := binary.BigEndian.Uint32(f.buf[f.start+8:])
	switch {
	case size < minPayload:
		return 0, fmt.Errorf("%w: message of %d bytes, expected at least %d", ErrProtocol, size, minPayload)
	case uint64(size) > uint64(f.max):
		return 0, fmt.Errorf("%w: message of %d bytes: %w of %d", ErrProtocol, size, ErrTooLarge, f.max)
	}
	return int(size), nil
}

// fill makes at least n unread bytes available in the buffer.
func (f *frameReader) fill(n int) error {
	if f.end-f.start >= n {
		return nil
	}
	f.makeRoom(n)
	for f.end-f.start < n {
		got, err := f.r.Read(f.buf[f.end:])
		f.end += got
		if err != nil && f.end-f.start < n {
			if err == io.EOF && f.end > f.start {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// makeRoom moves the unread bytes to the front of a buffer of at least n
// bytes. A buffer grown for one large message is given back afterwards.
func (f *frameReader) makeRoom(n int) {
	unread := f.buf[f.start:f.end]
	switch {
	case n > len(f.buf):
		f.buf = make([]byte, max(n, readSize))
	case len(f.buf) > readSize && max(n, len(unread)) <= readSize:
		f.buf = make([]byte, readSize)
	}
	f.end = copy(f.buf, unread)
	f.start = 0
}

// putFrameHeader writes the header of a message of size payload bytes.
func putFrameHeader(b []byte, size int) {
	clear(b[:frameHeader])
	binary.BigEndian.PutUint32(b[8:], uint32(size))
}
