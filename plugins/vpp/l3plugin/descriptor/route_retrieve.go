package descriptor

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

type routeKV = kvs.KV[*l3.Route, kvs.Metadata]

// fewRoutes is how many can wait in memory while VPP is asked for an interface.
const fewRoutes = 1000

// retrieve returns one value per path. A path that is expected keeps the
// spelling of the value; others may belong to another client of VPP, so who
// made them is left open.
func (d *routeDescriptor) retrieve(ctx context.Context, correlate []routeKV) ([]routeKV, error) {
	seed := maphash.MakeSeed()
	expected := newRouteIndex(correlate, func(id routeID) uint64 { return maphash.Comparable(seed, id) })
	tables, err := d.vpp.DumpTables(ctx)
	if err != nil {
		return nil, err
	}
	loose, read := looseSet{}, d.loose.reading()
	snapshot := d.ifs.Snapshot(ctx)
	if len(correlate) > fewRoutes {
		snapshot.Everything()
	}
	out := make([]routeKV, 0, len(correlate))
	var others foreignRoutes
	for _, t := range tables {
		err := d.vpp.EachRoute(ctx, t, func(found vppcalls.Route) {
			r, ok := describeRoute(found, snapshot)
			id, err := idOf(r)
			kv, wanted := expected.find(id)
			wanted = wanted && err == nil
			switch {
			case others.addIfForeign(r, ok, found, snapshot):
			case ok && wanted:
				out = append(out, respell(r, kv))
			case ok:
				out = append(out, routeKV{Key: model.RouteModel.Key(r), Value: r, Origin: kvs.UnknownOrigin})
			case wanted || snapshot.Gone(found.SwIfIndex):
				loose.add(found)
			}
		})
		if err == nil {
			err = d.vpp.EachOfCLI(ctx, t, func(found vppcalls.Route) { others.addOfCLI(found, snapshot) })
		}
		if err != nil {
			return nil, err
		}
	}
	read(loose)
	return append(out, others.All...), snapshot.Err()
}

// foreignRoutes are the routes of VPP's command line, those through interfaces without a tag, and
// those with paths of other types. They are foreign parts.
type foreignRoutes struct {
	item.Foreign[*l3.Route, kvs.Metadata]
}

func (f *foreignRoutes) add(r *l3.Route, what ...string) {
	what = slices.DeleteFunc(what, func(text string) bool { return text == "" })
	f.Add(model.RouteModel.Key(r), r, strings.Join(what, ", "))
}

// addIfForeign reports whether a route of the API has a path that no item stands for. named: it does
// not lead through an interface without a name.
func (f *foreignRoutes) addIfForeign(r *l3.Route, named bool, found vppcalls.Route, snapshot *ifaceidx.Snapshot) bool {
	if found.OtherType != "" {
		f.add(r, found.OtherType)
		return true
	}
	return !named && r.GetOutgoingInterface() == "" && f.addUntagged(r, found, snapshot)
}

func (f *foreignRoutes) addOfCLI(found vppcalls.Route, snapshot *ifaceidx.Snapshot) {
	if r, named := describeRoute(found, snapshot); named || found.OtherType != "" {
		f.add(r, "source CLI", found.OtherType)
	} else {
		f.addUntagged(r, found, snapshot, "source CLI")
	}
}

// addUntagged reports whether the route leads through an interface without a tag.
func (f *foreignRoutes) addUntagged(r *l3.Route, found vppcalls.Route, snapshot *ifaceidx.Snapshot, what ...string) bool {
	text, ok := snapshot.Untagged(found.SwIfIndex)
	if ok {
		f.add(r, append([]string{text}, what...)...)
	}
	return ok
}

// routeIndex finds routes of a list by their identity. It keeps hashes of the identities,
// because these are six times as large, and there may be a million.
type routeIndex struct {
	list   []routeKV
	hash   func(routeID) uint64
	places map[uint64]int32  // in list, by hash
	others map[routeID]int32 // routes with the hash of an earlier one
}

func newRouteIndex(list []routeKV, hash func(routeID) uint64) *routeIndex {
	x := &routeIndex{list: list, hash: hash, places: make(map[uint64]int32, len(list)), others: map[routeID]int32{}}
	for i, kv := range list {
		id, err := idOf(kv.Value)
		if err != nil {
			continue
		}
		if _, again := x.find(id); again { // desired values come first
			continue
		}
		if _, taken := x.places[hash(id)]; taken {
			x.others[id] = int32(i)
		} else {
			x.places[hash(id)] = int32(i)
		}
	}
	return x
}

// find returns the first route of the list with an identity.
func (x *routeIndex) find(id routeID) (kv routeKV, ok bool) {
	if at, ok := x.places[x.hash(id)]; ok {
		if found, err := idOf(x.list[at].Value); err == nil && found == id {
			return x.list[at], true
		}
	}
	at, ok := x.others[id]
	if ok {
		kv = x.list[at]
	}
	return kv, ok
}

func (d *routeDescriptor) retrieveValue(ctx context.Context, key string, last *l3.Route, _ kvs.Metadata) (*l3.Route, kvs.Metadata, bool, error) {
	id, err := idOf(last)
	if err != nil {
		return nil, nil, false, err
	}
	routes, err := d.vpp.LookupRoutes(ctx, id.vrf, id.dst)
	if err != nil {
		return nil, nil, false, err
	}
	snapshot := d.ifs.Snapshot(ctx)
	for _, found := range routes {
		if found.OtherType != "" {
			continue
		}
		r, ok := describeRoute(found, snapshot)
		foundID, err := idOf(r)
		_, untagged := snapshot.Untagged(found.SwIfIndex)
		same := err == nil && foundID == id && (ok || !untagged || r.GetOutgoingInterface() != "")
		if !ok && (same || snapshot.Gone(found.SwIfIndex)) {
			d.loose.add(found)
		}
		if ok && same {
			return respell(r, routeKV{Key: key, Value: last}).Value, nil, true, nil
		}
	}
	return nil, nil, false, snapshot.Err()
}

// respell gives a route the key and the spelling of the value that it was
// recognised as. If nothing else differs it is that value, so that many routes are
// in memory once.
func respell(r *l3.Route, w routeKV) routeKV {
	r.DstNetwork, r.NextHopAddr = w.Value.GetDstNetwork(), w.Value.GetNextHopAddr()
	r.OutgoingInterface, r.ViaVrfId, r.Bfd = w.Value.GetOutgoingInterface(), w.Value.GetViaVrfId(), w.Value.GetBfd()
	if max(r.GetWeight(), 1) == max(w.Value.GetWeight(), 1) {
		r.Weight = w.Value.GetWeight()
	}
	if proto.Equal(r, w.Value) {
		r = w.Value
	}
	return routeKV{Key: w.Key, Value: r, Origin: kvs.FromNB}
}

// describeRoute returns false for paths through interfaces that have no name, or no longer exist;
// if another interface has the index now, the route is unchanged.
func describeRoute(found vppcalls.Route, snapshot *ifaceidx.Snapshot) (*l3.Route, bool) {
	r := &l3.Route{
		VrfId: found.Table, DstNetwork: found.Destination.String(),
		Weight: uint32(found.Weight), Preference: uint32(found.Preference),
		OutLabels: found.Labels,
	}
	if found.Other != "" {
		kvs.AddUnmodeled(r, found.Other)
	}
	if found.Drop {
		r.Type = l3.Route_DROP
		return r, true
	}
	r.NextHopAddr = found.NextHop.String()
	switch {
	case found.SwIfIndex != vppcalls.NoInterface:
		name, ok := snapshot.Name(found.SwIfIndex)
		r.OutgoingInterface = name
		return r, ok
	case found.Via != found.Table:
		r.Type, r.ViaVrfId = l3.Route_INTER_VRF, found.Via
	}
	return r, true
}
