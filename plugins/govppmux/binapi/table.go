package binapi

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/codec"
)

// Where the fields of a message start, by its header: request (id,
// client_index, context), reply (id, context), event (id, client_index), other (id).
const (
	requestHeader = 10
	replyHeader   = 6
	otherHeader   = 2
)

// messageKind says where the context of a received message is.
type messageKind uint8

const (
	kindReply                messageKind = iota // context at offset 2
	kindReplyWithClientIndex                    // client_index before context: context at offset 6
	kindEvent                                   // no context
)

// Table is the message table of a connected VPP: which messages it knows, by
// name and CRC, and their IDs. It does not change during the connection.
type Table struct {
	ids   map[string]uint16
	names []string // by message ID
	// byName finds the name with CRC of a message by its name; a VPP has each
	// name once.
	byName map[string]string

	kinds atomic.Pointer[[]messageKind]             // by message ID; copied on write
	infos atomic.Pointer[map[reflect.Type]*msgType] // copied on write
	mu    sync.Mutex                                // serialises writers of kinds and infos
}

// msgType is what the client needs to know of a Go message type on one connection.
type msgType struct {
	name, crc string
	id        uint16
	known     bool // by the connected VPP
	header    int
	retval    int // index of the Retval field, -1 if there is none
}

func newTable(ids map[string]uint16) *Table {
	t := &Table{ids: ids, byName: make(map[string]string, len(ids))}
	last := 0
	for _, id := range ids {
		last = max(last, int(id))
	}
	t.names = make([]string, last+1)
	for name, id := range ids {
		t.names[id] = name
		t.byName[withoutCRC(name)] = name
	}
	kinds := make([]messageKind, last+1)
	for name, id := range ids {
		kinds[id] = kindByName(name)
	}
	for _, messages := range api.GetRegisteredMessages() {
		for nameCRC, msg := range messages {
			if id, ok := ids[nameCRC]; ok {
				kinds[id] = kindOf(msg, kinds[id])
			}
		}
	}
	t.kinds.Store(&kinds)
	t.infos.Store(&map[reflect.Type]*msgType{})
	return t
}

// kindByName classifies messages for which no Go type is linked in. The odd
// replies are the replies of VPP 22.10 to 26.06 whose client_index precedes the
// context.
func kindByName(nameCRC string) messageKind {
	name := withoutCRC(nameCRC)
	switch {
	case name == "sockclnt_create_reply", name == "dev_create_port_if_reply", name == "feature_is_enabled_reply":
		return kindReplyWithClientIndex
	case strings.HasSuffix(name, "_event"), strings.Contains(name, "_event_v"):
		return kindEvent
	}
	return kindReply
}

func withoutCRC(nameCRC string) string {
	return nameCRC[:max(0, strings.LastIndexByte(nameCRC, '_'))]
}

// kindOf classifies a message by its Go type. The generator calls a reply with
// a client_index a request.
func kindOf(msg api.Message, guess messageKind) messageKind {
	name := msg.GetMessageName()
	switch msg.GetMessageType() {
	case api.EventMessage:
		return kindEvent
	case api.RequestMessage:
		if strings.HasSuffix(name, "_reply") || strings.HasSuffix(name, "_details") {
			return kindReplyWithClientIndex
		}
	}
	return guess
}

// kind classifies a received message.
func (t *Table) kind(id uint16) messageKind {
	kinds := *t.kinds.Load()
	if int(id) >= len(kinds) {
		return kindReply
	}
	return kinds[id]
}

// setEvent makes the reader treat the message as an event.
func (t *Table) setEvent(id uint16) {
	if t.kind(id) == kindEvent {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	kinds := append([]messageKind(nil), *t.kinds.Load()...)
	kinds[id] = kindEvent
	t.kinds.Store(&kinds)
}

// Has reports whether VPP knows the message by its name and CRC.
func (t *Table) Has(msg api.Message) bool {
	_, ok := t.ids[msg.GetMessageName()+"_"+msg.GetCrcString()]
	return ok
}

// ID returns the message ID of a "<name>_<crc>".
func (t *Table) ID(nameCRC string) (id uint16, ok bool) {
	id, ok = t.ids[nameCRC]
	return id, ok
}

// Name returns the "<name>_<crc>" of a message ID, or "" if there is none.
func (t *Table) Name(id uint16) string {
	if int(id) >= len(t.names) {
		return ""
	}
	return t.names[id]
}

// Len returns the number of messages.
func (t *Table) Len() int { return len(t.ids) }

// All calls yield for every message until it returns false.
func (t *Table) All(yield func(nameCRC string, id uint16) bool) {
	for name, id := range t.ids {
		if !yield(name, id) {
			return
		}
	}
}

var errNilMessage = errors.New("nil message")

// typeOf returns the facts of a message's type, from a cache after the first call.
func (t *Table) typeOf(msg api.Message) (*msgType, error) {
	if msg == nil {
		return nil, errNilMessage
	}
	rt := reflect.TypeOf(msg)
	info, ok := (*t.infos.Load())[rt]
	if !ok || info.name != msg.GetMessageName() || info.crc != msg.GetCrcString() {
		info = t.resolve(msg, rt)
	}
	return info, nil
}

func (t *Table) resolve(msg api.Message, rt reflect.Type) *msgType {
	info := &msgType{name: msg.GetMessageName(), crc: msg.GetCrcString(), retval: -1}
	info.id, info.known = t.ids[info.name+"_"+info.crc]
	info.header = headerSize(msg)
	if rt.Kind() == reflect.Pointer && rt.Elem().Kind() == reflect.Struct {
		if f, ok := rt.Elem().FieldByName("Retval"); ok && f.Type.Kind() == reflect.Int32 && len(f.Index) == 1 {
			info.retval = f.Index[0]
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.infos.Load()
	next := make(map[reflect.Type]*msgType, len(old)+1)
	for k, v := range old {
		next[k] = v
	}
	next[rt] = info
	t.infos.Store(&next)
	return info
}

func headerSize(msg api.Message) int {
	switch msg.GetMessageType() {
	case api.RequestMessage:
		return requestHeader
	case api.ReplyMessage, api.EventMessage:
		return replyHeader
	}
	return otherHeader
}

// decode fills msg from a received message. A message shorter than its type
// is an error.
func decode(payload []byte, msg api.Message, header int) (err error) {
	u, ok := msg.(codec.Unmarshaler)
	if !ok {
		return fmt.Errorf("decode %s: type %T has no Unmarshal", msg.GetMessageName(), msg)
	}
	if len(payload) < header {
		return fmt.Errorf("decode %s: %w: %d bytes", msg.GetMessageName(), ErrProtocol, len(payload))
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decode %s: %w: %d bytes do not hold the message (%v)", msg.GetMessageName(), ErrProtocol, len(payload), r)
		}
	}()
	if err := u.Unmarshal(payload[header:]); err != nil {
		return fmt.Errorf("decode %s: %w", msg.GetMessageName(), err)
	}
	return nil
}
