package pmtuplugin

import (
	"context"
	"errors"
	"math"

	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	pmtu "github.com/tenuto-dev/tenuto/proto/ligato/vpp/pmtu"
)

// PathMTUName is the name of the descriptor.
const PathMTUName = "vpp-path-mtu"

var pathMTUs = session.Require("path MTU", "", &ip.IPPathMtuUpdate{}, &ip.IPPathMtuUpdateReply{},
	&ip.IPPathMtuGet{}, &ip.IPPathMtuGetReply{}, &ip.IPPathMtuDetails{})

// The limits of an MTU in bytes: every link has the smallest one (RFC 791, RFC 8200), and VPP takes
// the number above the largest one for a removal.
const (
	minMTU4 = 68
	minMTU6 = 1280
	maxMTU  = math.MaxUint16 - 1
)

// pathMTU is the MTU of an address in table 0.
type pathMTU struct {
	address ip_types.Address
	mtu     uint16
}

// NewPathMTU describes path MTUs in the default VRF table, where VPP has one for an address. VPP does
// not remove the last one of an address without a route, and crashes when a table is deleted
// that has such an entry, so the other tables are refused.
func NewPathMTU(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewSet(vpp, nil, item.Set[*pmtu.PathMTU, pathMTU, ip_types.Address]{
		Name: PathMTUName, Model: PathMTUModel, Fields: "address",
		Resolve: func(r *item.Resolver, v *pmtu.PathMTU) []pathMTU {
			e := pathMTU{address: r.Host("address", v.GetAddress())}
			least := uint32(minMTU4)
			if e.address.Af == ip_types.ADDRESS_IP6 {
				least = minMTU6
			}
			e.mtu = uint16(r.Range("mtu", v.GetMtu(), least, maxMTU))
			if v.GetVrf() != 0 {
				r.Fail("vrf", "%d, expected 0: VPP crashes when another table is deleted that had a path MTU", v.GetVrf())
			}
			return []pathMTU{e}
		},
		ID: func(e pathMTU) ip_types.Address { return e.address },
		Value: func(_ *item.Names, _, found []pathMTU) *pmtu.PathMTU {
			return &pmtu.PathMTU{Address: item.Addr(found[0].address), Mtu: uint32(found[0].mtu)}
		},
		Table: item.Table[pathMTU]{
			Add: func(ctx context.Context, e pathMTU) (kvs.Metadata, error) {
				return nil, set(ctx, vpp, e.address, e.mtu)
			},
			Remove: func(ctx context.Context, e pathMTU) error {
				// VPP keeps the MTU of a host behind a router unless it is larger than the
				// interface's.
				if err := set(ctx, vpp, e.address, maxMTU); err != nil {
					return err
				}
				return set(ctx, vpp, e.address, 0)
			},
			All: func(ctx context.Context) ([]pathMTU, error) { return list(ctx, vpp) },
		},
	})
}

func set(ctx context.Context, vpp *session.VPP, a ip_types.Address, mtu uint16) error {
	if err := pathMTUs.Check(vpp); err != nil {
		return err
	}
	return vpp.Call(ctx, &ip.IPPathMtuUpdate{Pmtu: ip.IPPathMtu{Nh: a, PathMtu: mtu}}, &ip.IPPathMtuUpdateReply{})
}

func list(ctx context.Context, vpp *session.VPP) (all []pathMTU, err error) {
	switch err := pathMTUs.Check(vpp); {
	case errors.Is(err, binding.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	found, err := session.Cursor[*ip.IPPathMtuDetails](ctx, vpp, &ip.IPPathMtuGet{}, &ip.IPPathMtuGetReply{})
	for _, d := range found {
		if d.Pmtu.TableID == 0 {
			all = append(all, pathMTU{d.Pmtu.Nh, d.Pmtu.PathMtu})
		}
	}
	return all, err
}
