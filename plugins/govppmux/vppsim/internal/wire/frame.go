package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// headerSize is the size of the header in front of every message, in both
	// directions: 8 bytes of queue pointer (ignored), the length of the payload
	// as a big-endian u32, 4 bytes of time stamp (ignored).
	headerSize = 16
	// lengthOffset is where the payload length sits in the header.
	lengthOffset = 8
	// maxPayload bounds one request. The largest requests of the API carry a few
	// hundred list elements; anything near this size is garbage.
	maxPayload = 1 << 20
	// readBufferSize is how much is asked from the socket at once.
	readBufferSize = 64 << 10
)

// errFrameTooLarge is returned for a header announcing more than maxPayload.
var errFrameTooLarge = errors.New("frame larger than the limit")

// frameReader cuts a byte stream into payloads. It reads as much as the socket
// offers, so a burst of small requests costs one system call.
type frameReader struct {
	src        io.Reader
	buf        []byte
	start, end int
}

func newFrameReader(src io.Reader) *frameReader {
	return &frameReader{src: src, buf: make([]byte, readBufferSize)}
}

// next returns the payload of the next frame, waiting for it if necessary. The
// slice is valid until the call after. A stream ending between frames gives
// io.EOF, within a frame io.ErrUnexpectedEOF.
func (r *frameReader) next() ([]byte, error) {
	for {
		payload, ok, err := r.cut()
		if ok || err != nil {
			return payload, err
		}
		if err := r.fill(); err != nil {
			if err == io.EOF && r.end > r.start {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// ready returns the next payload if all of it has been read already.
func (r *frameReader) ready() ([]byte, bool, error) { return r.cut() }

func (r *frameReader) cut() (payload []byte, ok bool, err error) {
	have := r.end - r.start
	if have < headerSize {
		return nil, false, nil
	}
	size := binary.BigEndian.Uint32(r.buf[r.start+lengthOffset:])
	if size > maxPayload {
		return nil, false, fmt.Errorf("payload of %d bytes, at most %d: %w", size, maxPayload, errFrameTooLarge)
	}
	total := headerSize + int(size)
	if have < total {
		return nil, false, nil
	}
	payload = r.buf[r.start+headerSize : r.start+total : r.start+total]
	r.start += total
	return payload, true, nil
}

// fill reads once, after making room for at least the frame in progress.
func (r *frameReader) fill() error {
	if r.start > 0 {
		copy(r.buf, r.buf[r.start:r.end])
		r.end -= r.start
		r.start = 0
	}
	if r.end == len(r.buf) {
		grown := make([]byte, min(2*len(r.buf), headerSize+maxPayload))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	n, err := r.src.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// beginFrame appends a header whose length finishFrame fills in; it returns the
// extended slice and the position of the header.
func beginFrame(out []byte) ([]byte, int) {
	at := len(out)
	return append(out, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), at
}

// finishFrame writes the length of the frame that began at position at.
func finishFrame(out []byte, at int) {
	binary.BigEndian.PutUint32(out[at+lengthOffset:], uint32(len(out)-at-headerSize))
}
