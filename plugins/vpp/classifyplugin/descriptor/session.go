package descriptor

import (
	"context"
	"encoding/hex"
	"slices"

	"go.fd.io/govpp/api"
	vppapi "go.fd.io/govpp/binapi/classify"
	"go.fd.io/govpp/binapi/ip_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/classifyplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	classify "github.com/tenuto-dev/tenuto/proto/ligato/vpp/classify"
)

// entry is a session of a table.
type entry struct {
	entryID
	skip, room   uint32 // of the table
	next, opaque uint32
	advance      int32
	action       action
}

type entryID struct {
	table uint32
	match string // as VPP has it: under the mask of the table
}

// action is what VPP does not tell of a session.
type action struct {
	kind vppapi.ClassifyAction
	vrf  uint32
}

var sessions = item.Declare(&Operations, "classifier session", "", item.Variant[entry]{
	Change: func(e entry, add bool) (request, reply api.Message) {
		match := slices.Concat(make([]byte, e.skip*block), []byte(e.match))
		return &vppapi.ClassifyAddDelSession{
			IsAdd: add, TableIndex: e.table, HitNextIndex: e.next, OpaqueIndex: e.opaque, Advance: e.advance,
			Action: e.action.kind, Metadata: e.action.vrf, MatchLen: uint32(len(match)), Match: match,
		}, &vppapi.ClassifyAddDelSessionReply{}
	},
	Dumps: []item.Dump[entry]{item.ListWith(listSessions,
		append(listMessages(), &vppapi.ClassifySessionDump{}, &vppapi.ClassifySessionDetails{})...)},
})

func listSessions(ctx context.Context, vpp *session.VPP) (all []entry, err error) {
	tables, err := listTables(ctx, vpp)
	if err != nil {
		return nil, err
	}
	for index, t := range tables {
		err := session.Each(ctx, vpp, &vppapi.ClassifySessionDump{TableID: index}, func(s *vppapi.ClassifySessionDetails) {
			all = append(all, entry{
				entryID: entryID{index, string(s.Match)}, skip: t.skip, room: t.buckets, next: nextOf(s.HitNextIndex), opaque: s.OpaqueIndex, advance: s.Advance,
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// NewSession describes sessions. When VPP replaces a session it keeps the VRF table of the former one for
// ever, so that is deleted before. VPP crashes when the memory of a table is used up.
func NewSession(vpp *session.VPP, tables *Tables) *kvs.KVDescriptor {
	return item.NewEntry(vpp, nil, item.Entry[*classify.Session, entry, entryID]{
		Name: SessionName, Model: model.SessionModel, Operation: sessions,
		Resolve: func(r *item.Resolver, v *classify.Session) entry { return resolveSession(r, v, tables) },
		ID:      func(e entry) entryID { return e.entryID },
		Value: func(n *item.Names, e entry) *classify.Session {
			v := &classify.Session{
				Table: n.Known(tables.name(e.table)), Match: hex.EncodeToString([]byte(e.match)), Opaque: e.opaque, Advance: e.advance,
				Action: classify.Session_Action(e.action.kind), VrfId: e.action.vrf,
			}
			if e.next == deny {
				v.Next = classify.Next_DENY
			}
			return v
		},
		Assume: func(found, expected entry) entry {
			found.action = expected.action
			return found
		},
		Check: func(ctx context.Context, _ *classify.Session, e entry) error { return tables.take(ctx, vpp, e) },
		Gone:  []api.VPPApiError{api.NO_SUCH_TABLE, api.NO_SUCH_ENTRY},
		After: []string{TableName},
	})
}

func resolveSession(r *item.Resolver, v *classify.Session, tables *Tables) entry {
	r.Enum("next", v.GetNext())
	r.Enum("action", v.GetAction())
	e := entry{
		entryID: entryID{match: digits(r, "match", v.GetMatch())}, next: nextIndex(v.GetNext()), opaque: v.GetOpaque(), advance: v.GetAdvance(),
		action: action{kind: vppapi.ClassifyAction(v.GetAction())},
	}
	switch v.GetAction() {
	case classify.Session_IP4_VRF:
		e.action.vrf = r.Table(v.GetVrfId(), ip_types.Address{Af: ip_types.ADDRESS_IP4})
	case classify.Session_IP6_VRF:
		e.action.vrf = r.Table(v.GetVrfId(), ip_types.Address{Af: ip_types.ADDRESS_IP6})
	default:
		if v.GetVrfId() != 0 {
			r.Fail("vrf_id", "%d, expected 0 without an action", v.GetVrfId())
		}
	}
	if !r.NotEmpty("table", v.GetTable(), "the name of a table") {
		return e
	}
	r.DependsOn("table-exists", model.TableModel.KeyFor(v.GetTable()))
	var in *Table
	e.table = r.Number("classifier table", v.GetTable(), func(name string) (uint32, bool) {
		t, ok := tables.lookup(name)
		if in = t; !ok {
			return 0, false
		}
		return t.Index, true
	})
	if in != nil {
		match, err := masked(e.match, in.mask)
		if err != nil {
			r.Fail("match", "%w", err)
		}
		e.match, e.skip, e.room = match, in.skip, in.room
	}
	return e
}
