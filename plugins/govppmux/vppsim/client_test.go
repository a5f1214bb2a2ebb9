package vppsim_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/memclnt"
)

// patience bounds the wait for a peer that has gone wrong; no test measures it.
const patience = 2 * time.Minute

type message interface {
	api.Message
	Size() int
	Marshal([]byte) ([]byte, error)
	Unmarshal([]byte) error
}

// client is a binary API client written from the protocol's description only.
type client struct {
	t       testing.TB
	conn    net.Conn
	in      *bufio.Reader
	index   uint32
	ids     map[string]uint16 // name_crc to ID
	types   map[uint16]message
	context uint32
	events  []message
}

func dial(t testing.TB, socket string) *client {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * patience)); err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, conn: conn, in: bufio.NewReader(conn)}
	c.handshake()
	return c
}

func (c *client) handshake() {
	c.t.Helper()
	hello := binary.BigEndian.AppendUint16(nil, 15)
	hello = binary.BigEndian.AppendUint32(hello, 0xcafe)
	hello = append(hello, make([]byte, 64)...)
	copy(hello[6:], "test")
	c.write(hello)
	table, err := c.read()
	if err != nil {
		c.t.Fatal(err)
	}
	if id, context := binary.BigEndian.Uint16(table), binary.BigEndian.Uint32(table[6:]); id != 16 || context != 0xcafe {
		c.t.Fatalf("sockclnt_create_reply: id %d context %#x", id, context)
	}
	reply := &memclnt.SockclntCreateReply{}
	if err := reply.Unmarshal(table[10:]); err != nil {
		c.t.Fatal(err)
	}
	c.index = reply.Index
	c.ids = make(map[string]uint16)
	for _, row := range reply.MessageTable {
		c.ids[row.Name] = row.Index
	}
	c.types = make(map[uint16]message)
	for nameCRC, m := range api.GetRegisteredMessages()["go.fd.io/govpp/binapi"] {
		if id, known := c.ids[nameCRC]; known {
			c.types[id] = m.(message)
		}
	}
}

func (c *client) write(payload []byte) {
	c.t.Helper()
	frame := make([]byte, 16, 16+len(payload))
	binary.BigEndian.PutUint32(frame[8:], uint32(len(payload)))
	if _, err := c.conn.Write(append(frame, payload...)); err != nil {
		c.t.Fatal(err)
	}
}

// read returns the payload of the next frame.
func (c *client) read() ([]byte, error) {
	header := make([]byte, 16)
	if _, err := io.ReadFull(c.in, header); err != nil {
		return nil, err
	}
	payload := make([]byte, binary.BigEndian.Uint32(header[8:]))
	_, err := io.ReadFull(c.in, payload)
	return payload, err
}

// has reports whether VPP has a message whose name begins with a prefix.
func (c *client) has(prefix string) bool {
	for name := range c.ids {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// encode returns a request as it goes over the wire.
func (c *client) encode(req message, context uint32) []byte {
	c.t.Helper()
	id, known := c.ids[req.GetMessageName()+"_"+req.GetCrcString()]
	if !known {
		c.t.Fatalf("%s is not in the message table", req.GetMessageName())
	}
	payload := binary.BigEndian.AppendUint16(nil, id)
	payload = binary.BigEndian.AppendUint32(payload, c.index)
	payload = binary.BigEndian.AppendUint32(payload, context)
	body, err := req.Marshal(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return append(payload, body...)
}

// send sends a request and returns its context.
func (c *client) send(req message) uint32 {
	c.t.Helper()
	c.context++
	c.write(c.encode(req, c.context))
	return c.context
}

// receive returns the next reply or record; events are put aside.
func (c *client) receive() (message, uint32, error) {
	for {
		payload, err := c.read()
		if err != nil {
			return nil, 0, err
		}
		known := c.types[binary.BigEndian.Uint16(payload)]
		if known == nil {
			return nil, 0, fmt.Errorf("message with unknown id %d", binary.BigEndian.Uint16(payload))
		}
		m := reflect.New(reflect.TypeOf(known).Elem()).Interface().(message)
		context, body := binary.BigEndian.Uint32(payload[2:]), payload[6:]
		if m.GetMessageType() == api.RequestMessage { // sw_interface_rx_placement_details and the like
			context, body = binary.BigEndian.Uint32(payload[6:]), payload[10:]
		}
		if err := m.Unmarshal(body); err != nil {
			return nil, 0, err
		}
		if m.GetMessageType() == api.EventMessage || strings.HasSuffix(m.GetMessageName(), "_event") {
			c.events = append(c.events, m)
			continue
		}
		return m, context, nil
	}
}

// exchange sends a request and a control_ping behind it, and returns what came for
// the request: a reply, the records of a dump, or nothing.
func (c *client) exchange(req message) []message {
	c.t.Helper()
	got, err := c.tryExchange(req)
	if err != nil {
		c.t.Fatalf("%s: %v", req.GetMessageName(), err)
	}
	return got
}

// tryExchange is exchange with a server that may crash.
func (c *client) tryExchange(req message) ([]message, error) {
	c.t.Helper()
	context := c.send(req)
	ping := c.send(&memclnt.ControlPing{})
	var got []message
	for {
		m, answered, err := c.receive()
		if err != nil {
			return nil, err
		}
		switch answered {
		case context:
			got = append(got, m)
		case ping:
			return got, nil
		default:
			c.t.Fatalf("%s: %s %+v with context %d, expected %d", req.GetMessageName(), m.GetMessageName(), m, answered, context)
		}
	}
}

// call sends a request that has a reply.
func call[R any, PR interface {
	*R
	message
}](c *client, req message) PR {
	c.t.Helper()
	got := c.exchange(req)
	if len(got) != 1 {
		c.t.Fatalf("%s: %d replies", req.GetMessageName(), len(got))
	}
	reply, ok := got[0].(PR)
	if !ok {
		c.t.Fatalf("%s: reply %T", req.GetMessageName(), got[0])
	}
	return reply
}
