package wire

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.fd.io/govpp/api"
)

// bindingsPath is the binding set whose structs the simulator encodes with.
const bindingsPath = "go.fd.io/govpp/binapi"

// Offsets of the fields that every message begins with.
const (
	requestClientOffset  = 2
	requestContextOffset = 6
	requestHeader        = 10
	replyHeader          = 6
)

// firstDynamicID is the first message ID after the fixed ones of memclnt. Real
// IDs depend on the loaded plugins and may differ after each start of VPP.
const firstDynamicID = 100

// memclntIDs returns the messages whose IDs are the same in every VPP: the
// messages of memclnt.api in the order of the file, beginning with 1.
func memclntIDs() []string {
	return []string{
		"memclnt_create", "memclnt_create_reply", "memclnt_delete", "memclnt_delete_reply",
		"rx_thread_exit", "memclnt_rx_thread_suspend", "memclnt_read_timeout",
		"rpc_call", "rpc_call_reply", "get_first_msg_id", "get_first_msg_id_reply",
		"api_versions", "api_versions_reply", "trace_plugin_msg_ids",
		"sockclnt_create", "sockclnt_create_reply", "sockclnt_delete", "sockclnt_delete_reply",
		"sock_init_shm", "sock_init_shm_reply", "memclnt_keepalive", "memclnt_keepalive_reply",
		"control_ping", "control_ping_reply", "memclnt_create_v2", "memclnt_create_v2_reply",
		"get_api_json", "get_api_json_reply",
	}
}

// entry is one row of the message table with everything known about the message.
type entry struct {
	id        uint16
	name, crc string
	kind      api.MessageType
	odd       bool        // an answer with a client index in front of its context
	binding   api.Message // nil when neither the bindings nor a handler have this name with this CRC
	run       runFunc     // nil without a handler
	reply     *entry      // of a request: its reply, if the table has one
	forgotten bool        // by a fault command
	rule      *rule       // what a fault command asked for; nil normally
	count     uint64      // requests received
	stalled   uint64      // requests executed late; see Server.Stalled
}

func (e *entry) nameCRC() string { return e.name + "_" + e.crc }

// newInstance returns an empty message to decode into or to answer with.
func (e *entry) newInstance() message {
	if e.binding == nil {
		return nil
	}
	m, _ := reflect.New(reflect.TypeOf(e.binding).Elem()).Interface().(message)
	return m
}

// table maps names and IDs to entries.
type table struct {
	byName map[string]*entry
	byID   []*entry
	rows   []*entry // sorted by ID
}

// newTable builds the table of a release: name to CRC. A nil release means the
// bindings' own. Messages of the release without a binding are listed too (their
// requests are answered as unimplemented).
func newTable(release map[string]string) *table {
	t := &table{byName: make(map[string]*entry)}
	registered := registeredByName()
	if release == nil {
		release = make(map[string]string, len(registered))
		for name, m := range registered {
			release[name] = m.GetCrcString()
		}
	}
	for name, crc := range release {
		e := &entry{name: name, crc: crc, kind: kindByName(name)}
		if m, ok := registered[name]; ok {
			e.kind = m.GetMessageType()
			if e.kind == api.RequestMessage && kindByName(name) == api.ReplyMessage {
				e.kind, e.odd = api.ReplyMessage, true
			}
			if m.GetCrcString() == crc {
				e.binding = m
			}
		}
		t.byName[name] = e
	}
	t.addHandshake(registered)
	for _, e := range t.byName {
		if e.kind == api.RequestMessage {
			e.reply = t.byName[e.name+"_reply"]
		}
	}
	t.number(0)
	return t
}

// addHandshake makes sure that the messages that a connect needs are
// there, whatever the release data contains.
func (t *table) addHandshake(registered map[string]api.Message) {
	for _, name := range memclntIDs() {
		m, ok := registered[name]
		if _, listed := t.byName[name]; listed || !ok {
			continue
		}
		if strings.HasPrefix(name, "sockclnt_") || strings.HasPrefix(name, "control_ping") {
			t.byName[name] = &entry{name: name, crc: m.GetCrcString(), kind: m.GetMessageType(), binding: m}
		}
	}
}

// number assigns the IDs. Everything outside memclnt shifts with the boot count,
// so that a client holding on to old IDs is found out.
func (t *table) number(boot int) {
	t.rows = t.rows[:0]
	fixed := make(map[string]uint16)
	for i, name := range memclntIDs() {
		fixed[name] = uint16(i + 1)
	}
	next := uint16(firstDynamicID + 7*(boot%100))
	for _, name := range slices.Sorted(maps.Keys(t.byName)) {
		e := t.byName[name]
		if id, ok := fixed[name]; ok {
			e.id = id
		} else {
			e.id = next
			next++
		}
		t.rows = append(t.rows, e)
	}
	slices.SortFunc(t.rows, func(a, b *entry) int { return cmp.Compare(a.id, b.id) })
	t.byID = make([]*entry, next)
	for _, e := range t.rows {
		t.byID[e.id] = e
	}
}

// lookup returns the entry of an ID, nil if there is none or it was forgotten.
func (t *table) lookup(id uint16) *entry {
	if int(id) >= len(t.byID) {
		return nil
	}
	if e := t.byID[id]; e != nil && !e.forgotten {
		return e
	}
	return nil
}

func registeredByName() map[string]api.Message {
	all := api.GetRegisteredMessages()[bindingsPath]
	byName := make(map[string]api.Message, len(all))
	for _, m := range all {
		byName[m.GetMessageName()] = m
	}
	return byName
}

// kindByName guesses the kind of a message that has no binding.
func kindByName(name string) api.MessageType {
	switch {
	case strings.HasSuffix(name, "_reply"), strings.HasSuffix(name, "_details"):
		return api.ReplyMessage
	case strings.HasSuffix(name, "_event"):
		return api.EventMessage
	}
	return api.RequestMessage
}
