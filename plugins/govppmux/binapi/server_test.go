package binapi

import (
	"bufio"
	"context"
	"encoding/binary"
	"net"
	"path/filepath"
	"sort"
	"sync"
	"testing"
	"time"

	"go.fd.io/govpp/api"
	_ "go.fd.io/govpp/binapi/dev"
	_ "go.fd.io/govpp/binapi/interface"
	_ "go.fd.io/govpp/binapi/ip"
	_ "go.fd.io/govpp/binapi/lcp"
	"go.fd.io/govpp/binapi/memclnt"
	_ "go.fd.io/govpp/binapi/policer"
	_ "go.fd.io/govpp/binapi/tapv2"
	_ "go.fd.io/govpp/binapi/vlib"
	_ "go.fd.io/govpp/binapi/vpe"
	"go.fd.io/govpp/codec"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// incoming is a request as the scripted server sees it.
type incoming struct {
	peer    *peer
	name    string // without CRC
	id      uint16
	context uint32
	payload []byte
}

// decode fills msg from the request.
func (r *incoming) decode(msg api.Message) {
	if err := decode(r.payload, msg, requestHeader); err != nil {
		panic(err)
	}
}

// reply answers with msg and the context of the request.
func (r *incoming) reply(msgs ...api.Message) {
	for _, m := range msgs {
		r.peer.sendAs(m, r.peer.server.ids[m.GetMessageName()+"_"+m.GetCrcString()], r.context)
	}
}

// peer is one client connection of the server.
type peer struct {
	server *server
	nc     net.Conn
	number uint32 // of the connection
	mu     sync.Mutex
	w      *bufio.Writer
}

// sendAs sends msg under a message ID and a context.
func (p *peer) sendAs(msg api.Message, id uint16, context uint32) {
	m := msg.(codec.Marshaler)
	header := headerSize(msg)
	b := make([]byte, frameHeader+header+m.Size())
	putFrameHeader(b, header+m.Size())
	body := b[frameHeader:]
	binary.BigEndian.PutUint16(body, id)
	switch header {
	case requestHeader:
		binary.BigEndian.PutUint32(body[6:], context)
	case replyHeader:
		binary.BigEndian.PutUint32(body[2:], context)
	}
	if _, err := m.Marshal(body[header:]); err != nil {
		panic(err)
	}
	p.write(b)
}

func (p *peer) write(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.w.Write(b)
}

func (p *peer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.w.Flush()
}

// clientIndex is the index of all clients of a server.
const clientIndex = 0x80000001

// server speaks the socket protocol; what it answers is the test's.
type server struct {
	ids    map[string]uint16
	names  map[uint16]string
	handle func(*incoming)
	ln     net.Listener
	wg     sync.WaitGroup
	// replaced makes every connection one to another process.
	replaced bool
	mu       sync.Mutex
	peers    []*peer
	served   uint32
	left     []uint32 // connections whose client asked to be removed
	deaf     bool     // to these requests
}

// newServer makes the message table of all linked binapi messages except those
// named in without.
func newServer(handle func(*incoming), without ...string) *server {
	s := &server{ids: map[string]uint16{}, names: map[uint16]string{}, handle: handle}
	skip := map[string]bool{}
	for _, name := range without {
		skip[name] = true
	}
	var all []string
	for _, messages := range api.GetRegisteredMessages() {
		for nameCRC := range messages {
			all = append(all, nameCRC)
		}
	}
	sort.Strings(all)
	for i, nameCRC := range all {
		if !skip[withoutCRC(nameCRC)] {
			s.ids[nameCRC] = uint16(100 + i)
			s.names[uint16(100+i)] = withoutCRC(nameCRC)
		}
	}
	return s
}

// listen serves on a unix socket of the test and returns its path.
func (s *server) listen(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "api.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		tb.Fatal(err)
	}
	s.ln = ln
	s.wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.serve(nc) })
		}
	})
	tb.Cleanup(func() { s.close() })
	return path
}

func (s *server) close() {
	if s.ln != nil {
		_ = s.ln.Close()
	}
	s.kill()
	s.wg.Wait()
}

// kill closes all client connections.
func (s *server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.peers {
		_ = p.nc.Close()
	}
	s.peers = nil
}

func (s *server) serve(nc net.Conn) {
	defer nc.Close()
	p := &peer{server: s, nc: nc, w: bufio.NewWriterSize(nc, 64<<10)}
	s.mu.Lock()
	s.peers = append(s.peers, p)
	p.number = s.served
	s.served++
	s.mu.Unlock()
	fr := newFrameReader(nc, 1<<20)
	for {
		payload, err := fr.next()
		if err != nil {
			return
		}
		s.request(p, payload)
		if !fr.buffered() {
			p.flush()
		}
	}
}

func (s *server) request(p *peer, payload []byte) {
	id := binary.BigEndian.Uint16(payload)
	if id == sockclntCreateID {
		reply := &memclnt.SockclntCreateReply{Index: clientIndex}
		for nameCRC, id := range s.ids {
			reply.MessageTable = append(reply.MessageTable, memclnt.MessageTableEntry{Index: id, Name: nameCRC})
		}
		p.sendAs(reply, sockclntCreateReplyID, binary.BigEndian.Uint32(payload[2:]))
		return
	}
	r := &incoming{peer: p, name: s.names[id], id: id, payload: payload, context: binary.BigEndian.Uint32(payload[6:])}
	if r.name == "control_ping" {
		pid := uint32(42)
		if s.replaced {
			pid += p.number
		}
		r.reply(&memclnt.ControlPingReply{VpePID: pid})
		return
	}
	if r.name == "sockclnt_delete" {
		s.remove(r)
		return
	}
	if s.handle != nil {
		s.handle(r)
	}
}

// remove closes a connection as its client asks.
func (s *server) remove(r *incoming) {
	asked := &memclnt.SockclntDelete{}
	r.decode(asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	if asked.Index == clientIndex {
		s.left = append(s.left, r.peer.number)
	}
	if !s.deaf {
		_ = r.peer.nc.Close()
	}
}

// dial connects to a server on a unix socket.
func dial(tb testing.TB, s *server, opts Options) *Conn {
	tb.Helper()
	opts.Socket = s.listen(tb)
	c, err := Dial(context.Background(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// dialPipe connects to a server through memory, for tests in a synctest bubble.
func dialPipe(tb testing.TB, s *server, opts Options) *Conn {
	tb.Helper()
	opts.Dial = func(context.Context, string) (net.Conn, error) {
		client, srv := net.Pipe()
		s.wg.Go(func() { s.serve(srv) })
		return client, nil
	}
	c, err := Dial(context.Background(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// patient is a context whose deadline only a hanging test reaches.
func patient(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}
