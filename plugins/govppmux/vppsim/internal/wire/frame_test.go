package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func frame(payload []byte) []byte {
	out, at := beginFrame(nil)
	out = append(out, payload...)
	finishFrame(out, at)
	return out
}

func readAll(r *frameReader) (payloads [][]byte, err error) {
	for {
		payload, err := r.next()
		if err != nil {
			return payloads, err
		}
		payloads = append(payloads, bytes.Clone(payload))
		for {
			more, ready, err := r.ready()
			if err != nil {
				return payloads, err
			}
			if !ready {
				break
			}
			payloads = append(payloads, bytes.Clone(more))
		}
	}
}

func TestFrameReader(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("x"), 3*readBufferSize)
	stream := bytes.Join([][]byte{frame([]byte("one")), frame(nil), frame(big), frame([]byte("four"))}, nil)
	for name, src := range map[string]io.Reader{
		"at once":      bytes.NewReader(stream),
		"in halves":    iotest.HalfReader(bytes.NewReader(stream)),
		"with the end": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		got, err := readAll(newFrameReader(src))
		if !errors.Is(err, io.EOF) || len(got) != 4 || string(got[0]) != "one" || len(got[1]) != 0 || !bytes.Equal(got[2], big) || string(got[3]) != "four" {
			t.Errorf("%s: %d frames, %v", name, len(got), err)
		}
	}
}

func TestFrameReaderErrors(t *testing.T) {
	t.Parallel()
	huge := make([]byte, headerSize)
	binary.BigEndian.PutUint32(huge[lengthOffset:], maxPayload+1)
	for name, tc := range map[string]struct {
		stream []byte
		want   error
	}{
		"end within a header":  {frame([]byte("abc"))[:5], io.ErrUnexpectedEOF},
		"end within a payload": {frame([]byte("abc"))[:17], io.ErrUnexpectedEOF},
		"too large":            {huge, errFrameTooLarge},
	} {
		if _, err := readAll(newFrameReader(bytes.NewReader(tc.stream))); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := newFrameReader(stuck{}).next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader without progress: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// FuzzFrameReader: whatever arrives, in whatever pieces, the payloads are those that
// a straightforward parser finds.
func FuzzFrameReader(f *testing.F) {
	f.Add(frame([]byte("hello")), 3)
	f.Add(append(frame(nil), frame([]byte("x"))...), 1)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, 16)
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		got, _ := readAll(newFrameReader(&pieces{rest: stream, size: max(1, piece&0xff)}))
		var want [][]byte
		for rest := stream; len(rest) >= headerSize; {
			size := int(binary.BigEndian.Uint32(rest[lengthOffset:]))
			if size > maxPayload || len(rest) < headerSize+size {
				break
			}
			want = append(want, rest[headerSize:headerSize+size])
			rest = rest[headerSize+size:]
		}
		if len(got) != len(want) {
			t.Fatalf("%d payloads, expected %d", len(got), len(want))
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("payload %d: %x, expected %x", i, got[i], want[i])
			}
		}
	})
}

// pieces is a reader that returns a few bytes at a time.
type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
