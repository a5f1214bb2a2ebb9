package wire

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"go.fd.io/govpp/api"
)

// message is what the generated structs offer.
type message interface {
	api.Message
	Size() int
	Marshal([]byte) ([]byte, error)
	Unmarshal([]byte) error
}

// MessageOf constrains PT to be *T and a generated message.
type MessageOf[T any] interface {
	*T
	message
}

// runFunc decodes the body of a request and handles it.
type runFunc func(c *Call, body []byte) error

// Call is one request being handled. It is valid until the handler returns.
type Call struct {
	// Client is the index of the client that sent the request.
	Client uint32
	// Context is the client's context, echoed in everything sent.
	Context uint32

	server *Server
	conn   *conn
	silent bool
	local  *[]api.Message // collects what is sent, for a call without a client
}

// Handle makes fn the handler of requests Q. The request is valid until fn
// returns. A nil reply sends nothing. A later Handle for the same message replaces
// the earlier one; messages that the server's table does not have with their CRC are
// ignored.
func Handle[Q, R any, PQ MessageOf[Q], PR MessageOf[R]](s *Server, fn func(*Call, PQ) PR) {
	scratch := new(Q)
	s.register(PQ(scratch), func(c *Call, body []byte) error {
		var empty Q
		*scratch = empty
		if err := decode(PQ(scratch), body); err != nil {
			return err
		}
		if reply := fn(c, PQ(scratch)); reply != nil {
			c.Send(reply)
		}
		return nil
	})
}

// HandleDump makes fn the handler of a dump request Q; it sends its records with
// Call.Send. Nothing marks the end: clients send a control_ping behind a dump.
func HandleDump[Q any, PQ MessageOf[Q]](s *Server, fn func(*Call, PQ)) {
	scratch := new(Q)
	s.register(PQ(scratch), func(c *Call, body []byte) error {
		var empty Q
		*scratch = empty
		if err := decode(PQ(scratch), body); err != nil {
			return err
		}
		fn(c, PQ(scratch))
		return nil
	})
}

func (s *Server) register(m api.Message, run runFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.table.byName[m.GetMessageName()]; ok && e.crc == m.GetCrcString() {
		e.binding, e.run = m, run
	}
}

// decode fills m from body; a body that is too short is an error (the generated
// code panics on it).
func decode(m message, body []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decode %s: %v", m.GetMessageName(), r)
		}
	}()
	return m.Unmarshal(body)
}

// Send sends a reply or a record of a dump to the client. Messages that the
// simulated release does not have are left out.
func (c *Call) Send(m message) {
	if c.silent {
		return
	}
	if c.local != nil {
		*c.local = append(*c.local, m)
		return
	}
	e := c.server.table.byName[m.GetMessageName()]
	if e == nil || e.forgotten {
		return
	}
	m = c.server.altered(m)
	if e.odd {
		c.conn.put(e.id, m, 0, c.Context)
		return
	}
	c.conn.put(e.id, m, c.Context)
}

// Local makes a request from inside, as VPP's command line does, and returns what
// its handler sent; nothing without a handler. To be called from handlers.
func (s *Server) Local(req message) []api.Message {
	e := s.table.byName[req.GetMessageName()]
	body, err := req.Marshal(nil)
	if e == nil || e.run == nil || err != nil {
		return nil
	}
	var sent []api.Message
	if e.run(&Call{server: s, local: &sent}, body) != nil {
		return nil
	}
	return sent
}

// SendEvent sends an event to a client, if it is still connected. To be called
// from handlers and from Locked.
func (s *Server) SendEvent(client uint32, m message) {
	e := s.table.byName[m.GetMessageName()]
	to := s.conns[client]
	if e == nil || e.forgotten || to == nil {
		return
	}
	to.put(e.id, m, client)
	to.cond.Broadcast()
}

// incoming returns the entry of a request, nil for what VPP would only log.
func (s *Server) incoming(payload []byte) *entry {
	if len(payload) < replyHeader {
		return nil
	}
	return s.table.lookup(binary.BigEndian.Uint16(payload))
}

// admit waits, with the lock released, while the server hangs and for the delay of
// a fault command. False means that the connection ended.
func (s *Server) admit(c *conn, e *entry) bool {
	s.hangs(e, false)
	for s.hung != nil {
		hung := s.hung
		s.unlocked(func() {
			select {
			case <-hung:
			case <-c.quit:
			}
		})
		if c.isDead() {
			return false
		}
	}
	if e == nil || e.rule == nil || e.rule.delay == 0 {
		return !c.isDead()
	}
	timer := time.NewTimer(e.rule.delay)
	defer timer.Stop()
	s.unlocked(func() {
		select {
		case <-timer.C:
		case <-c.quit:
		}
	})
	return !c.isDead()
}

func (s *Server) unlocked(f func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	f()
}

// dispatch handles one request with the lock held. False ends the connection.
func (s *Server) dispatch(c *conn, e *entry, payload []byte) bool {
	switch e.name {
	case "sockclnt_create":
		s.handshake(c, payload)
		return true
	case "sockclnt_delete":
		return s.goodbye(c, payload)
	}
	if e.kind != api.RequestMessage || len(payload) < requestHeader || c.index == 0 {
		return true
	}
	if binary.BigEndian.Uint32(payload[requestClientOffset:]) != c.index {
		return true
	}
	s.journal.add(e, c.index, payload)
	e.count++
	if c.stalled {
		e.stalled++
	}
	c.call = Call{
		Client: c.index, Context: binary.BigEndian.Uint32(payload[requestContextOffset:]),
		server: s, conn: c,
	}
	s.answer(&c.call, e, payload[requestHeader:])
	if s.cfg.AfterRequest != nil {
		s.cfg.AfterRequest()
	}
	return true
}

// answer runs the handler, or what a fault command put in its place.
func (s *Server) answer(call *Call, e *entry, body []byte) {
	if r := e.rule; r != nil {
		switch {
		case take(&r.drop):
			return
		case take(&r.fail):
			s.refuse(call, e, r.failRetval)
			return
		case take(&r.late):
			call.silent = true
			defer func() {
				call.silent = false
				s.refuse(call, e, r.lateRetval)
			}()
		case take(&r.mute):
			call.silent = true
		}
	}
	if e.run == nil {
		s.refuse(call, e, int32(api.UNIMPLEMENTED))
		return
	}
	if err := e.run(call, body); err != nil {
		call.silent = true // VPP drops what is too short and does not answer
	}
}

// refuse answers with nothing but a retval. Dumps have no reply to carry it.
func (s *Server) refuse(call *Call, e *entry, retval int32) {
	if e.reply == nil || call.silent {
		return
	}
	reply := e.reply.newInstance()
	if reply == nil {
		reply = bareReply{name: e.reply.name, retval: retval}
	} else {
		setRetval(reply, retval)
	}
	call.Send(reply)
}

// setRetval sets the retval of a reply, if it has one. A few are unsigned.
func setRetval(reply message, retval int32) {
	switch field := reflect.ValueOf(reply).Elem().FieldByName("Retval"); {
	case field.CanInt():
		field.SetInt(int64(retval))
	case field.CanUint():
		field.SetUint(uint64(uint32(retval)))
	}
}

// bareReply is the reply of a message whose layout is not known: its retval alone.
type bareReply struct {
	name   string
	retval int32
}

func (r bareReply) GetMessageName() string        { return r.name }
func (bareReply) GetCrcString() string            { return "" }
func (bareReply) GetMessageType() api.MessageType { return api.ReplyMessage }
func (bareReply) Size() int                       { return 4 }
func (bareReply) Unmarshal([]byte) error          { return nil }
func (r bareReply) Marshal(b []byte) ([]byte, error) {
	binary.BigEndian.PutUint32(b, uint32(r.retval))
	return b, nil
}
