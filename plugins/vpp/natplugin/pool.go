package natplugin

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	ed "go.fd.io/govpp/binapi/nat44_ed"
	ei "go.fd.io/govpp/binapi/nat44_ei"
	"go.fd.io/govpp/binapi/nat_types"
	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// Pools are added address by address: of a range that has an address which VPP has already,
// VPP would keep the addresses before, and it would not say which those are.

// maxPool is the number of addresses of a pool: VPP compares each address with all.
const maxPool = 1 << 16

// address of a pool.
type address struct {
	addressID
	vrf uint32
	// iface is the interface whose address it is, if VPP follows that: no value asks for it.
	iface uint32 `binapi:"name=interface"`
}

// addressID is what VPP has once.
type addressID struct {
	addr     ip_types.IP4Address
	twiceNAT bool
}

// anyVRF is the VRF table of addresses that are for all.
const anyVRF = math.MaxUint32

type addressCalls = func(*session.VPP) item.PartCalls[address]

var addressOperations = map[kind]*session.Operation[addressCalls]{
	endpointDependent: session.Declare("NAT44 address pool", plugin, session.Variant[addressCalls](addressesED,
		(*ed.Nat44AddDelAddressRange)(nil), (*ed.Nat44AddDelAddressRangeReply)(nil), (*ed.Nat44AddressDump)(nil), (*ed.Nat44AddressDetails)(nil),
		(*ed.Nat44InterfaceAddrDump)(nil), (*ed.Nat44InterfaceAddrDetails)(nil))),
	endpointIndependent: session.Step("NAT44 address pool", session.Variant[addressCalls](addressesEI,
		(*ei.Nat44EiAddDelAddressRange)(nil), (*ei.Nat44EiAddDelAddressRangeReply)(nil), (*ei.Nat44EiAddressDump)(nil), (*ei.Nat44EiAddressDetails)(nil),
		(*ei.Nat44EiInterfaceAddrDump)(nil), (*ei.Nat44EiInterfaceAddrDetails)(nil))),
}

func addressesED(vpp *session.VPP) item.PartCalls[address] {
	return item.PartCalls[address]{
		Change: func(a address, add bool) (request, reply api.Message) {
			req := &ed.Nat44AddDelAddressRange{FirstIPAddress: a.addr, LastIPAddress: a.addr, VrfID: a.vrf, IsAdd: add}
			if a.twiceNAT {
				req.Flags = nat_types.NAT_IS_TWICE_NAT
			}
			return req, &ed.Nat44AddDelAddressRangeReply{}
		},
		List: func(ctx context.Context) (all []address, err error) {
			var followed []interfaceAddress
			err = session.Each(ctx, vpp, &ed.Nat44AddressDump{}, func(d *ed.Nat44AddressDetails) {
				all = append(all, address{addressID: addressID{d.IPAddress, d.Flags&nat_types.NAT_IS_TWICE_NAT != 0}, vrf: d.VrfID})
			})
			if err == nil {
				err = session.Each(ctx, vpp, &ed.Nat44InterfaceAddrDump{}, func(d *ed.Nat44InterfaceAddrDetails) {
					followed = append(followed, interfaceAddress{d.SwIfIndex, d.Flags&nat_types.NAT_IS_TWICE_NAT != 0})
				})
			}
			if err == nil {
				err = follow(ctx, vpp, all, followed)
			}
			return all, err
		},
	}
}

func addressesEI(vpp *session.VPP) item.PartCalls[address] {
	return item.PartCalls[address]{
		Change: func(a address, add bool) (request, reply api.Message) {
			return &ei.Nat44EiAddDelAddressRange{FirstIPAddress: a.addr, LastIPAddress: a.addr, VrfID: a.vrf, IsAdd: add},
				&ei.Nat44EiAddDelAddressRangeReply{}
		},
		List: func(ctx context.Context) (all []address, err error) {
			var followed []interfaceAddress
			err = session.Each(ctx, vpp, &ei.Nat44EiAddressDump{}, func(d *ei.Nat44EiAddressDetails) {
				all = append(all, address{addressID: addressID{addr: d.IPAddress}, vrf: d.VrfID})
			})
			if err == nil {
				err = session.Each(ctx, vpp, &ei.Nat44EiInterfaceAddrDump{}, func(d *ei.Nat44EiInterfaceAddrDetails) {
					followed = append(followed, interfaceAddress{d.SwIfIndex, false})
				})
			}
			if err == nil {
				err = follow(ctx, vpp, all, followed)
			}
			return all, err
		},
	}
}

// interfaceAddress is an interface whose address VPP has in the pool, whichever that is.
type interfaceAddress struct {
	index    interface_types.InterfaceIndex
	twiceNAT bool
}

// follow marks the addresses that are in the pool because an interface has them.
func follow(ctx context.Context, vpp *session.VPP, all []address, followed []interfaceAddress) error {
	for _, f := range followed {
		found, err := session.Dump[*ip.IPAddressDetails](ctx, vpp, &ip.IPAddressDump{SwIfIndex: f.index})
		if err != nil && !session.Gone(err) {
			return err
		}
		for _, d := range found {
			for i := range all {
				if all[i].addressID == (addressID{d.Prefix.Address.Un.GetIP4(), f.twiceNAT}) {
					all[i].iface = uint32(f.index)
				}
			}
		}
	}
	return nil
}

var explainAddress = map[api.VPPApiError]string{
	api.VALUE_EXIST: "VPP has the address already, for another client",
	api.UNSPECIFIED: "a static mapping of NAT44 has the address",
}

// NewPool describes address pools. VPP knows addresses alone, each once for twice-NAT and once
// for other NAT. A pool is changed in place: the addresses that stay keep their sessions.
func NewPool(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewGroup(vpp, nil, item.Group[*nat.Nat44AddressPool, address, addressID]{
		Name: PoolName, Model: model.PoolModel,
		Parts: ownParts(partsOf(vpp, addressOperations), func(a address) bool { return listedByGlobal(vpp).addresses[a.addressID] }),
		Resolve: func(r *item.Resolver, v *nat.Nat44AddressPool) []address {
			waitForPool(r, v.GetVrfId(), v.GetTwiceNat())
			return addressesOf(r, v)
		},
		ID:   func(a address) addressID { return a.addressID },
		Once: func(a address) any { return a.addressID },
		Key: func(_ *item.Names, a address) string {
			return model.PoolModel.Key(poolOf([]address{a}))
		},
		Value: func(_ *item.Names, all []address) *nat.Nat44AddressPool { return poolOf(all) },
		DerivedValues: func(_ string, v *nat.Nat44AddressPool) []kvs.KeyValuePair {
			property := model.PoolKey
			if v.GetTwiceNat() {
				property = model.TwiceNATPoolKey
			}
			return []kvs.KeyValuePair{{Key: property.Key(fmt.Sprint(v.GetVrfId()), model.PoolAddresses(v)), Value: &emptypb.Empty{}}}
		},
		Taken: func(a address, key string) error {
			return fmt.Errorf("first_ip: %s is in %s already", a.addr, key)
		},
		Exists: exists, Gone: gone, Explain: explainAddress, After: []string{GlobalName},
	})
}

// NewGlobalAddress describes addresses that the global item lists.
func NewGlobalAddress(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewGroup(vpp, nil, item.Group[*nat.Nat44Global_Address, address, addressID]{
		Name: GlobalAddressName, Derived: model.GlobalAddressKey.Matches, Parts: partsOf(vpp, addressOperations),
		Resolve: func(r *item.Resolver, v *nat.Nat44Global_Address) []address {
			waitForPool(r, v.GetVrfId(), v.GetTwiceNat())
			return []address{{addressID: addressID{ip4(r, "address", v.GetAddress()), v.GetTwiceNat()}, vrf: v.GetVrfId()}}
		},
		ID:   func(a address) addressID { return a.addressID },
		Once: func(a address) any { return a.addressID },
		Gone: gone, Explain: explainAddress,
	})
}

func waitForPool(r *item.Resolver, vrf uint32, twiceNAT bool) {
	dependsOnGlobal(r)
	if vrf != anyVRF {
		r.Table(vrf, ip_types.Address{})
	}
	if twiceNAT {
		dependsOnED(r)
	}
}

// ip4 returns an IPv4 address of one host.
func ip4(r *item.Resolver, field, text string) ip_types.IP4Address {
	addr, err := ipconv.ParseAddr(text)
	if err != nil || !addr.Is4() || addr.IsUnspecified() || addr.IsMulticast() {
		r.Fail(field, "%q, expected the IPv4 address of one host", text)
		return ip_types.IP4Address{}
	}
	return addr.As4()
}

func number(a ip_types.IP4Address) uint32 { return binary.BigEndian.Uint32(a[:]) }

func addressesOf(r *item.Resolver, v *nat.Nat44AddressPool) []address {
	first := ip4(r, "first_ip", v.GetFirstIp())
	last := first
	if v.GetLastIp() != "" {
		last = ip4(r, "last_ip", v.GetLastIp())
	}
	from, to := number(first), number(last)
	switch {
	case to < from:
		r.Fail("last_ip", "%s is before first_ip %s", last, first)
		return nil
	case to-from >= maxPool:
		r.Fail("last_ip", "%d addresses, expected at most %d", uint64(to-from)+1, maxPool)
		return nil
	}
	all := make([]address, 0, to-from+1)
	for n := uint64(from); n <= uint64(to); n++ {
		var addr ip_types.IP4Address
		binary.BigEndian.PutUint32(addr[:], uint32(n))
		all = append(all, address{addressID: addressID{addr, v.GetTwiceNat()}, vrf: v.GetVrfId()})
	}
	return all
}

// poolOf returns the pool with the first of the addresses and those that follow it; the
// others are added again when it is changed.
func poolOf(all []address) *nat.Nat44AddressPool {
	slices.SortFunc(all, func(a, b address) int { return netip.AddrFrom4(a.addr).Compare(netip.AddrFrom4(b.addr)) })
	v := &nat.Nat44AddressPool{VrfId: all[0].vrf, FirstIp: all[0].addr.String(), TwiceNat: all[0].twiceNAT}
	for n, a := range all[1:] {
		if a.vrf != v.VrfId || number(a.addr) != number(all[n].addr)+1 {
			break
		}
		v.LastIp = a.addr.String()
	}
	return v
}
