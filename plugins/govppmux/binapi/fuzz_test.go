package binapi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"go.fd.io/govpp/binapi/memclnt"
)

func frameOf(payload []byte) []byte {
	b := make([]byte, frameHeader+len(payload))
	putFrameHeader(b, len(payload))
	copy(b[frameHeader:], payload)
	return b
}

func TestFrameReaderCutsAnyChunks(t *testing.T) {
	t.Parallel()
	var in []byte
	var want [][]byte
	for i, n := range []int{6, 7, 100, readSize, 8, 3 * readSize, readSize - frameHeader, 6, 500} {
		p := bytes.Repeat([]byte{byte(i + 1)}, n)
		want = append(want, p)
		in = append(in, frameOf(p)...)
	}
	for name, r := range map[string]io.Reader{
		"at once": bytes.NewReader(in), "by byte": iotest.OneByteReader(bytes.NewReader(in)),
		"by half": iotest.HalfReader(bytes.NewReader(in)), "with the data": iotest.DataErrReader(bytes.NewReader(in)),
	} {
		fr := newFrameReader(r, 4*readSize)
		for i, w := range want {
			got, err := fr.next()
			if err != nil || !bytes.Equal(got, w) {
				t.Fatalf("%s: message %d: %d bytes, %v; want %d", name, i, len(got), err, len(w))
			}
		}
		if _, err := fr.next(); err != io.EOF {
			t.Errorf("%s: after the last message: %v, want EOF", name, err)
		}
		if len(fr.buf) != readSize {
			t.Errorf("%s: buffer of %d bytes kept", name, len(fr.buf))
		}
	}
}

func FuzzFrameReader(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add(frameOf([]byte("abcdefgh")), uint8(3))
	f.Add(append(frameOf(bytes.Repeat([]byte{7}, 40)), frameOf([]byte("123456"))...), uint8(16))
	f.Add(frameOf(nil), uint8(1))
	f.Add([]byte{8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff, 20: 1}, uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		const limit = 1000
		r := &chunkReader{b: in, n: int(step) + 1}
		fr := newFrameReader(r, limit)
		consumed := 0
		for {
			buffered, reads := fr.buffered(), r.reads
			p, err := fr.next()
			if buffered && r.reads != reads {
				t.Fatal("next read though a message was buffered")
			}
			if err != nil {
				checkEnd(t, in[consumed:], err, limit)
				return
			}
			if at := consumed + frameHeader; !bytes.Equal(p, in[at:at+len(p)]) {
				t.Fatalf("message at %d is not what was sent", consumed)
			}
			if len(p) < minPayload || len(p) > limit {
				t.Fatalf("message of %d bytes", len(p))
			}
			consumed += frameHeader + len(p)
		}
	})
}

// checkEnd compares the error with what is left of the input.
func checkEnd(t *testing.T, rest []byte, err error, limit int) {
	t.Helper()
	want := io.ErrUnexpectedEOF
	switch {
	case len(rest) == 0:
		want = io.EOF
	case len(rest) >= frameHeader:
		if n := binary.BigEndian.Uint32(rest[8:]); n < minPayload || n > uint32(limit) {
			want = ErrProtocol
		}
	}
	if !errors.Is(err, want) {
		t.Fatalf("error %v with %d bytes left, want %v", err, len(rest), want)
	}
}

// chunkReader reads at most n bytes at a time.
type chunkReader struct {
	b     []byte
	n     int
	reads int
}

func (r *chunkReader) Read(p []byte) (int, error) {
	r.reads++
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.n)], r.b)
	r.b = r.b[n:]
	return n, nil
}

// handshakeReply is a valid reply of n entries.
func handshakeReply(n int) []byte {
	m := &memclnt.SockclntCreateReply{Index: 0x80000001}
	for i := range n {
		m.MessageTable = append(m.MessageTable, memclnt.MessageTableEntry{Index: uint16(i), Name: "message_" + string(rune('a'+i%26)) + "_01234567"})
	}
	b := make([]byte, requestHeader+m.Size())
	binary.BigEndian.PutUint16(b, sockclntCreateReplyID)
	if _, err := m.Marshal(b[requestHeader:]); err != nil {
		panic(err)
	}
	return b
}

func TestParseHandshake(t *testing.T) {
	t.Parallel()
	index, ids, err := parseHandshake(handshakeReply(3))
	if err != nil || index != 0x80000001 || len(ids) != 3 || ids["message_c_01234567"] != 2 {
		t.Errorf("index %x, ids %v, %v", index, ids, err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"short":           func(b []byte) []byte { return b[:19] },
		"truncated table": func(b []byte) []byte { return b[:len(b)-1] },
		"other message":   func(b []byte) []byte { b[1] = 24; return b },
		"refused":         func(b []byte) []byte { b[13] = 1; return b },
		"nameless entry":  func(b []byte) []byte { clear(b[handshakeHeader+2 : handshakeHeader+66]); return b },
	} {
		if _, _, err := parseHandshake(change(handshakeReply(3))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzHandshake(f *testing.F) {
	f.Add(handshakeReply(0))
	f.Add(handshakeReply(5))
	f.Add(handshakeReply(5)[:100])
	f.Fuzz(func(t *testing.T, in []byte) {
		_, ids, err := parseHandshake(in)
		if err != nil {
			return
		}
		if len(ids)*tableEntrySize > len(in) {
			t.Fatalf("%d entries from %d bytes", len(ids), len(in))
		}
		table := newTable(ids)
		for name, id := range table.All {
			if got, ok := table.ID(name); !ok || got != id {
				t.Fatalf("%q: ID %d, %v; want %d", name, got, ok, id)
			}
			_, _ = table.Name(id), table.kind(id)
		}
	})
}

// FuzzDispatch feeds messages of any content to a connection with a request in
// flight: it must neither panic nor complete the request with another context.
func FuzzDispatch(f *testing.F) {
	f.Add([]byte{0, 24, 0, 0, 0, 1, 0, 0, 0, 0})
	f.Add([]byte{0, 100, 1, 2, 3, 4})
	ids := newServer(nil).ids
	f.Fuzz(func(t *testing.T, payload []byte) {
		if len(payload) < minPayload {
			return
		}
		opts, err := Options{MaxRequests: 4}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		c := &Conn{opts: opts, table: newTable(ids), slots: make([]slot, 4), slotBits: 2}
		k := &call{done: make(chan struct{}, 1), reply: &memclnt.ControlPingReply{}, header: replyHeader}
		const context = 0x12345
		c.slots[context&3] = slot{context: context, to: k, info: &msgType{}}
		_ = c.dispatch(payload)
		completed := c.slots[context&3].context == 0
		at2 := binary.BigEndian.Uint32(payload[2:]) == context
		at6 := len(payload) >= 10 && binary.BigEndian.Uint32(payload[6:]) == context
		if completed && !at2 && !at6 {
			t.Fatal("request completed by a message without its context")
		}
	})
}
