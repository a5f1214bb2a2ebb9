package classifyplugin

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/vpp/policerplugin"

	"go.fd.io/govpp/api"
	vppapi "go.fd.io/govpp/binapi/classify"
	"go.fd.io/govpp/binapi/ip_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
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
	policer      string // that has the number next, where the table is for policers
}

type entryID struct {
	table uint32
	match string // as VPP has it: under the mask of the table
}

// action is what VPP does not report of a session.
type action struct {
	kind vppapi.ClassifyAction
	vrf  uint32
}

var sessions = item.Declare("classifier session", "", item.Variant[entry]{
	Change: changeSession,
	Dumps: []item.Dump[entry]{item.ListWith(listSessions,
		append(listMessages(), &vppapi.ClassifySessionDump{}, &vppapi.ClassifySessionDetails{})...)},
})

func changeSession(e entry, add bool) (request, reply api.Message) {
	match := slices.Concat(make([]byte, e.skip*block), []byte(e.match))
	return &vppapi.ClassifyAddDelSession{
		IsAdd: add, TableIndex: e.table, HitNextIndex: e.next, OpaqueIndex: e.opaque, Advance: e.advance,
		Action: e.action.kind, Metadata: e.action.vrf, MatchLen: uint32(len(match)), Match: match,
	}, &vppapi.ClassifyAddDelSessionReply{}
}

// listSessions lists the sessions of all tables, also those that VPP adds for flows.
func listSessions(ctx context.Context, vpp *session.VPP) (all []entry, err error) {
	tables, err := listTables(ctx, vpp)
	if err != nil {
		return nil, err
	}
	numbers := false // that may be numbers of policers
	for index, t := range tables {
		err := session.Each(ctx, vpp, &vppapi.ClassifySessionDump{TableID: index}, func(s *vppapi.ClassifySessionDetails) {
			numbers = numbers || nextOf(s.HitNextIndex) != none
			all = append(all, entry{
				entryID: entryID{index, string(s.Match)}, skip: t.skip, room: t.buckets, next: nextOf(s.HitNextIndex), opaque: s.OpaqueIndex, advance: s.Advance,
			})
		})
		if err != nil {
			return nil, err
		}
	}
	if !numbers || policerplugin.ByIndex.Check(vpp) != nil {
		return all, nil
	}
	policers, err := policerplugin.Indexes(ctx, vpp)
	if err != nil {
		return nil, err
	}
	names := map[uint32]string{}
	for name, index := range policers {
		names[index] = name
	}
	for i := range all {
		all[i].policer = names[all[i].next]
	}
	return all, nil
}

// addMetered adds a session with a policer, whose number is looked up; it returns false for other sessions.
func addMetered(ctx context.Context, vpp *session.VPP, e entry) (bool, error) {
	if e.policer == "" {
		return false, nil
	}
	indexes, err := policerplugin.Indexes(ctx, vpp, e.policer)
	if err != nil {
		return true, fmt.Errorf("policer: %w", err)
	}
	index, found := indexes[e.policer]
	switch {
	case !found:
		return true, fmt.Errorf("policer: VPP has no policer %q", e.policer)
	case nextOf(index) == none:
		return true, fmt.Errorf("policer: %q has the number %d in VPP, expected at most %d", e.policer, index, maxNext)
	}
	e.next = index
	request, reply := changeSession(e, true)
	return true, vpp.Call(ctx, request, reply)
}

// NewSession describes sessions. When VPP replaces a session it keeps the VRF table of the former one for
// ever, so that is deleted before. VPP crashes when the memory of a table is used up.
func NewSession(vpp *session.VPP, tables *Tables) *kvs.KVDescriptor {
	return item.NewEntry(vpp, nil, item.Entry[*classify.Session, entry, entryID]{
		Name: SessionName, Model: SessionModel, Operation: sessions,
		Resolve: func(r *item.Resolver, v *classify.Session) entry { return resolveSession(r, v, tables) },
		ID:      func(e entry) entryID { return e.entryID },
		Value: func(n *item.Names, e entry) *classify.Session {
			table, use, ok := tables.forSessions(e.table)
			v := &classify.Session{
				Table: n.Known(table, ok), Match: hex.EncodeToString([]byte(e.match)), Opaque: e.opaque, Advance: e.advance,
				Action: classify.Session_Action(e.action.kind), VrfId: e.action.vrf,
			}
			switch {
			case use == classify.Table_POLICER:
				v.Policer = e.policer
			case e.next == deny:
				v.Next = classify.Next_DENY
			}
			return v
		},
		Assume: func(found, expected entry) entry {
			found.action = expected.action
			if expected.policer == "" {
				found.policer = ""
			} else {
				found.next = expected.next
			}
			return found
		},
		Check: func(ctx context.Context, _ *classify.Session, e entry) error { return tables.take(ctx, vpp, e) },
		Add:   func(ctx context.Context, e entry) (bool, error) { return addMetered(ctx, vpp, e) },
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
	if v.GetPolicer() != "" {
		resolvePolicer(r, v, &e)
	}
	r.DependsOn("table-exists", TableModel.KeyFor(v.GetTable()))
	use := classify.Table_ACL
	if e.policer != "" {
		use = classify.Table_POLICER
	}
	in := tables.resolve(r, "table", v.GetTable(), use)
	if in == nil {
		return e
	}
	e.table = in.Index
	if in.mask != "" {
		match, err := masked(e.match, in.mask)
		if err != nil {
			r.Fail("match", "%w", err)
		}
		e.match, e.skip, e.room = match, in.skip, in.room
	}
	return e
}

// resolvePolicer resolves a session of a table for policers. VPP has the number of the policer where other
// sessions have what comes next.
func resolvePolicer(r *item.Resolver, v *classify.Session, e *entry) {
	e.policer = v.GetPolicer()
	r.DependsOn("policer-exists", policerplugin.PolicerModel.KeyFor(v.GetPolicer()))
	if v.GetNext() != classify.Next_CONTINUE {
		r.Fail("next", "%s, expected CONTINUE: the policer decides", v.GetNext())
	}
	if v.GetAction() != classify.Session_NONE {
		r.Fail("action", "%s, expected NONE with a policer", v.GetAction())
	}
	if v.GetAdvance() != 0 {
		r.Fail("advance", "%d, expected 0 with a policer", v.GetAdvance())
	}
	r.Range("opaque", v.GetOpaque(), 0, violates)
}

// violates is the last color of packets: 0 is conforming, 1 is exceeding.
const violates = 2
