package classifyplugin

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/classify"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	classifymodel "github.com/tenuto-dev/tenuto/proto/ligato/vpp/classify"
)

// The names of the descriptors.
const (
	TableName   = "vpp-classify-table"
	SessionName = "vpp-classify-session"
	BindingName = "vpp-classify-binding"
)

const (
	// block is the unit of masks.
	block = 16
	// maxBlocks is the length of the longest mask.
	maxBlocks = 5
	// none stands for no table, and for packets that continue.
	none = ^uint32(0)
	// deny drops packets, in all nodes that bindings put into the paths of packets.
	deny = 0
)

// listed is what VPP reports about a table.
type listed struct {
	mask                      string // a multiple of blocks
	skip, buckets, next, miss uint32
}

// fixed returns what VPP cannot change.
func (l listed) fixed() listed {
	l.next = none
	return l
}

// Table is the metadata of a table. It is never changed.
type Table struct {
	// Index is the number that VPP gave to the table.
	Index uint32
	mask  string
	skip  uint32
	room  uint32 // for sessions
	use   classifymodel.Table_Use
}

// Tables are the tables that exist in VPP, by their names. Before Use there are none.
type Tables struct {
	m idxmap.Map[*Table]

	mu   sync.Mutex
	left map[uint32]uint32 // how many sessions can be added before VPP is asked again, by index
}

// NewTables returns the tables that descriptors share.
func NewTables() *Tables { return &Tables{left: map[uint32]uint32{}} }

// Use makes Tables use the metadata map of the descriptor.
func (t *Tables) Use(r idxmap.Reader) (err error) {
	t.m, err = idxmap.Of[*Table](r)
	return err
}

func (t *Tables) lookup(name string) (*Table, bool) {
	m, ok := t.m.Get(name)
	return m, ok && m != nil
}

// resolve returns the table that a field names, on which the value depends already, and refuses one for
// another use. It returns a made-up table where the tables of VPP do not matter, and nil for one that VPP
// does not have.
func (t *Tables) resolve(r *item.Resolver, field, name string, use classifymodel.Table_Use) *Table {
	found := &Table{}
	index := r.Number("classifier table", name, func(name string) (uint32, bool) {
		var ok bool
		if found, ok = t.lookup(name); !ok {
			return 0, false
		}
		if found.use != use {
			r.Fail(field, "%q is a table for the use %s, expected one for %s", name, found.use, use)
		}
		return found.Index, true
	})
	if found != nil && found.mask == "" {
		return &Table{Index: index}
	}
	return found
}

var byIndex = idxmap.Index[*Table, uint32]{Name: "index", Keys: func(m *Table) []uint32 {
	if m == nil {
		return nil
	}
	return []uint32{m.Index}
}}

func (t *Tables) name(index uint32) (string, bool) {
	for _, name := range byIndex.Lookup(t.m, index) {
		return name, true
	}
	return "", false
}

// forSessions returns the table with an index, unless VPP adds the sessions.
func (t *Tables) forSessions(index uint32) (name string, use classifymodel.Table_Use, ok bool) {
	if name, ok = t.name(index); !ok {
		return "", 0, false
	}
	m, ok := t.lookup(name)
	if !ok || m.use == classifymodel.Table_FLOW {
		return "", 0, false
	}
	return name, m.use, true
}

// created notes that a table has just got an index.
func (t *Tables) created(index uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.left, index)
}

// spareSessions is the memory of a table for sessions that are added before VPP counts them.
const spareSessions = 4096

// take takes the room for a session in a table, or returns why there is none.
func (t *Tables) take(ctx context.Context, vpp *session.VPP, e entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left[e.table] == 0 {
		info := &classify.ClassifyTableInfoReply{}
		if err := vpp.Call(ctx, &classify.ClassifyTableInfo{TableID: e.table}, info); err != nil {
			return err
		}
		if info.ActiveSessions >= e.room {
			return fmt.Errorf("table: has no room for more than %d sessions; raise its max_sessions", e.room)
		}
		t.left[e.table] = e.room - info.ActiveSessions
	}
	t.left[e.table]--
	return nil
}

// listMessages are those that listTables needs.
func listMessages() []api.Message {
	return []api.Message{
		&classify.ClassifyTableIds{}, &classify.ClassifyTableIdsReply{}, &classify.ClassifyTableInfo{}, &classify.ClassifyTableInfoReply{},
	}
}

// listTables returns the tables of VPP by their indexes.
func listTables(ctx context.Context, vpp *session.VPP) (map[uint32]listed, error) {
	ids := &classify.ClassifyTableIdsReply{}
	if err := vpp.Call(ctx, &classify.ClassifyTableIds{}, ids); err != nil || len(ids.Ids) == 0 {
		return nil, err
	}
	requests, replies := make([]api.Message, len(ids.Ids)), make([]api.Message, len(ids.Ids))
	for i, id := range ids.Ids {
		requests[i], replies[i] = &classify.ClassifyTableInfo{TableID: id}, &classify.ClassifyTableInfoReply{}
	}
	all := make(map[uint32]listed, len(ids.Ids))
	for i, err := range vpp.CallAll(ctx, requests, replies) {
		info := replies[i].(*classify.ClassifyTableInfoReply)
		switch {
		case errors.Is(err, api.CLASSIFY_TABLE_NOT_FOUND): // it has just gone
		case err != nil:
			return nil, err
		default:
			all[ids.Ids[i]] = listed{string(info.Mask), info.SkipNVectors, info.Nbuckets, info.NextTableIndex, nextOf(info.MissNextIndex)}
		}
	}
	return all, nil
}

// maxNext is the highest number of what comes next.
const maxNext = 0xfffe

// nextOf returns the number of a next node, or of a policer; for sessions VPP keeps 16 bits of it.
func nextOf(index uint32) uint32 {
	if index > maxNext {
		return none
	}
	return index
}

// digits returns the bytes that hexadecimal digits stand for, filled up to a multiple of blocks.
func digits(r *item.Resolver, field, text string) string {
	b, err := hex.DecodeString(text)
	switch {
	case err != nil || hex.EncodeToString(b) != text:
		r.Fail(field, "%q, expected pairs of hexadecimal digits in lower case", text)
	case len(b) == 0 || len(b) > maxBlocks*block:
		r.Fail(field, "has %d bytes, expected 1 to %d", len(b), maxBlocks*block)
	}
	return padded(string(b), (len(b)+block-1)/block*block)
}

func padded(b string, length int) string {
	return b + string(make([]byte, max(0, length-len(b))))
}

// masked returns the bytes of a match that a mask lets through.
func masked(match, mask string) (string, error) {
	for i := len(mask); i < len(match); i++ {
		if match[i] != 0 {
			return "", fmt.Errorf("has more than the %d bytes of the mask", len(mask))
		}
	}
	out := []byte(padded(match, len(mask)))[:len(mask)]
	for i := range out {
		out[i] &= mask[i]
	}
	return string(out), nil
}
