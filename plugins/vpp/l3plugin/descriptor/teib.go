package descriptor

import (
	"context"
	"errors"
	"net/netip"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// A tunnel endpoint says behind which next hop of the underlay a peer is, on a
// tunnel with many ends (IPIP, GRE). VPP makes the peer a neighbour on the tunnel.
// The interface has our tag, so endpoints on it are ours too. They must go before
// the interface does: VPP would keep them.

// teibCalls is what tunnel endpoints need of VPP.
type teibCalls interface {
	AddTunnelEndpoint(ctx context.Context, e vppcalls.TunnelEndpoint) error
	DeleteTunnelEndpoint(ctx context.Context, e vppcalls.TunnelEndpoint) error
	DumpTunnelEndpoints(ctx context.Context) ([]vppcalls.TunnelEndpoint, error)
}

type teibDescriptor struct {
	vpp teibCalls
	ifs Interfaces
}

type teibKV = kvs.KV[*l3.TeibEntry, kvs.Metadata]

// NewTeib describes tunnel endpoints.
func NewTeib(vpp teibCalls, ifs Interfaces) *kvs.KVDescriptor {
	d := &teibDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.TeibModel, kvs.Descriptor[*l3.TeibEntry, kvs.Metadata]{
		Name:                 TeibName,
		Southbound:           Southbound,
		Validate:             validateTeib,
		Dependencies:         teibDependencies,
		ValueComparator:      sameTeib,
		CreateContext:        d.create,
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{interfaceName},
		Concurrency:          concurrency,
	}))
}

func validateTeib(_ string, e *l3.TeibEntry) error {
	var errs []error
	if e.GetInterface() == "" {
		errs = append(errs, invalid("interface", "empty, expected the name of a tunnel"))
	}
	for _, f := range []struct{ name, addr string }{
		{"peer_addr", e.GetPeerAddr()}, {"next_hop_addr", e.GetNextHopAddr()},
	} {
		if addr, err := ipconv.ParseAddr(f.addr); err != nil {
			errs = append(errs, invalid(f.name, "%w", err))
		} else if addr.IsUnspecified() || addr.IsMulticast() {
			errs = append(errs, invalid(f.name, "%s, expected the address of one host", addr))
		}
	}
	return errors.Join(errs...)
}

func teibDependencies(_ string, e *l3.TeibEntry) []kvs.Dependency {
	hop, _ := ipconv.ParseAddr(e.GetNextHopAddr()) // validated
	return append([]kvs.Dependency{interfaceDependency("interface-exists", e.GetInterface())},
		tableDependency("vrf-table-exists", e.GetVrfId(), hop)...)
}

func sameTeib(_ string, a, b *l3.TeibEntry) bool {
	return a.GetInterface() == b.GetInterface() && a.GetVrfId() == b.GetVrfId() &&
		ipconv.SameAddr(a.GetPeerAddr(), b.GetPeerAddr()) && ipconv.SameAddr(a.GetNextHopAddr(), b.GetNextHopAddr())
}

func (d *teibDescriptor) create(ctx context.Context, _ string, e *l3.TeibEntry) (kvs.Metadata, error) {
	endpoint, err := d.resolve(e)
	if err != nil {
		return nil, err
	}
	return nil, d.vpp.AddTunnelEndpoint(ctx, endpoint)
}

func (d *teibDescriptor) remove(ctx context.Context, _ string, e *l3.TeibEntry, _ kvs.Metadata) error {
	endpoint, err := d.resolve(e)
	if err != nil {
		return err
	}
	return d.vpp.DeleteTunnelEndpoint(ctx, endpoint)
}

func (d *teibDescriptor) resolve(e *l3.TeibEntry) (out vppcalls.TunnelEndpoint, err error) {
	if out.SwIfIndex, err = swIfIndex(d.ifs, e.GetInterface()); err != nil {
		return out, err
	}
	if out.Peer, err = ipconv.ParseAddr(e.GetPeerAddr()); err != nil {
		return out, err
	}
	out.Table = e.GetVrfId()
	out.NextHop, err = ipconv.ParseAddr(e.GetNextHopAddr())
	return out, err
}

// teibID is what tells endpoints apart in VPP.
type teibID struct {
	iface string
	peer  netip.Addr
}

func (d *teibDescriptor) retrieve(ctx context.Context, correlate []teibKV) ([]teibKV, error) {
	all, err := d.vpp.DumpTunnelEndpoints(ctx)
	if err != nil {
		return nil, err
	}
	wanted := make(map[teibID]teibKV, len(correlate))
	for _, kv := range correlate {
		peer, err := ipconv.ParseAddr(kv.Value.GetPeerAddr())
		id := teibID{kv.Value.GetInterface(), peer}
		if err == nil && wanted[id].Value == nil { // what is asked for comes first
			wanted[id] = kv
		}
	}
	snapshot := d.ifs.Snapshot(ctx)
	var out []teibKV
	for _, found := range all {
		iface, ok := snapshot.Name(found.SwIfIndex)
		if !ok {
			continue
		}
		e := &l3.TeibEntry{
			Interface: iface, PeerAddr: found.Peer.String(), NextHopAddr: found.NextHop.String(), VrfId: found.Table,
		}
		if w := wanted[teibID{iface, found.Peer}].Value; w != nil {
			e.PeerAddr = w.GetPeerAddr()
			if ipconv.SameAddr(e.NextHopAddr, w.GetNextHopAddr()) {
				e.NextHopAddr = w.GetNextHopAddr()
			}
		}
		out = append(out, teibKV{Key: model.TeibModel.Key(e), Value: e, Origin: kvs.FromNB})
	}
	return out, snapshot.Err()
}
