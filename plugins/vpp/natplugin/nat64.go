package natplugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	vpp64 "go.fd.io/govpp/binapi/nat64"
	"go.fd.io/govpp/binapi/nat_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
	nat64 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat64"
)

// Names of the descriptors of NAT64, and of the plugin of VPP.
const (
	NAT64GlobalName    = "vpp-nat64-global"
	NAT64InterfaceName = "vpp-nat64-interface"
	NAT64PoolName      = "vpp-nat64-pool"
	NAT64StaticBIBName = "vpp-nat64-static-bib"
	NAT64PrefixName    = "vpp-nat64-prefix"

	nat64Plugin = "nat64"
)

// alreadyThere is what NAT64 and NAT66 answer to being enabled or disabled twice.
const alreadyThere = api.VPPApiError(1)

// settings64 are what NAT64 is enabled with, with the defaults of VPP.
type settings64 struct {
	bindings, sessions uint32 // buckets
	timeouts           nat_types.NatTimeouts
}

// The defaults of nat64_plugin_enable.
const bindings64, sessions64 = 1024, 2048

var globals64 = session.Require("NAT64", nat64Plugin,
	(*vpp64.Nat64PluginEnableDisable)(nil), (*vpp64.Nat64PluginEnableDisableReply)(nil),
	(*vpp64.Nat64SetTimeouts)(nil), (*vpp64.Nat64SetTimeoutsReply)(nil),
	(*vpp64.Nat64GetTimeouts)(nil), (*vpp64.Nat64GetTimeoutsReply)(nil))

// applied has the settings that were enabled last in a session.
type applied[E any] struct {
	mu sync.Mutex
	e  *E
}

func remember[E any](vpp *session.VPP, in *session.State[applied[E]], e *E) error {
	a, err := in.On(vpp)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.e = e
	return nil
}

// remembered returns the settings that were enabled in this session, or nil.
func remembered[E any](vpp *session.VPP, in *session.State[applied[E]]) (*E, error) {
	a, err := in.On(vpp)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.e, nil
}

var applied64 = session.NewState(func() *applied[settings64] { return &applied[settings64]{} })

// usedByOthers64 names what VPP has in NAT64. It is called when the agent has nothing in it. A binding
// that packets made is no reason to keep NAT64 enabled.
func usedByOthers64(ctx context.Context, vpp *session.VPP) (string, error) {
	u := users{ctx: ctx}
	count(&u, "interfaces", parts(vpp, interfaces64))
	count(&u, "addresses", parts(vpp, addresses64))
	prefixes, bindings := 0, 0
	u.err = errors.Join(u.err,
		session.Each(ctx, vpp, &vpp64.Nat64PrefixDump{}, func(*vpp64.Nat64PrefixDetails) { prefixes++ }),
		session.Each(ctx, vpp, &vpp64.Nat64BibDump{Proto: allProtocols}, func(d *vpp64.Nat64BibDetails) {
			if d.Flags&nat_types.NAT_IS_STATIC != 0 {
				bindings++
			}
		}))
	u.add("prefixes", prefixes)
	u.add("static bindings", bindings)
	return u.text()
}

// used64 reports that VPP has an item of NAT64, so that NAT64 is enabled.
func used64(ctx context.Context, vpp *session.VPP) (used bool, err error) {
	err = errors.Join(
		session.Each(ctx, vpp, &vpp64.Nat64InterfaceDump{}, func(*vpp64.Nat64InterfaceDetails) { used = true }),
		session.Each(ctx, vpp, &vpp64.Nat64PoolAddrDump{}, func(*vpp64.Nat64PoolAddrDetails) { used = true }),
		session.Each(ctx, vpp, &vpp64.Nat64PrefixDump{}, func(*vpp64.Nat64PrefixDetails) { used = true }))
	if used || err != nil {
		return used, err
	}
	err = session.Each(ctx, vpp, &vpp64.Nat64BibDump{Proto: allProtocols}, func(*vpp64.Nat64BibDetails) { used = true })
	return used, err
}

func settingsOf64(v *nat64.Global) settings64 {
	t := v.GetTimeouts()
	return settings64{cmp.Or(v.GetBindingBuckets(), bindings64), cmp.Or(v.GetSessionBuckets(), sessions64), nat_types.NatTimeouts{
		UDP: cmp.Or(t.GetUdp(), timeouts.UDP), TCPEstablished: cmp.Or(t.GetTcpEstablished(), timeouts.TCPEstablished),
		TCPTransitory: cmp.Or(t.GetTcpTransitory(), timeouts.TCPTransitory), ICMP: cmp.Or(t.GetIcmp(), timeouts.ICMP),
	}}
}

// describe returns the value that the settings are read back as; defaults are left out.
func (s settings64) describe() *nat64.Global {
	g := (settings{kind: endpointDependent, timeouts: s.timeouts}).describe()
	v := &nat64.Global{BindingBuckets: s.bindings, SessionBuckets: s.sessions}
	if t := g.GetTimeouts(); t != nil {
		v.Timeouts = &nat64.Global_Timeouts{Udp: t.Udp, TcpEstablished: t.TcpEstablished, TcpTransitory: t.TcpTransitory, Icmp: t.Icmp}
	}
	if v.BindingBuckets == bindings64 {
		v.BindingBuckets = 0
	}
	if v.SessionBuckets == sessions64 {
		v.SessionBuckets = 0
	}
	return v
}

// get64 returns the settings, without those that VPP does not report: whether NAT64 is enabled,
// and the buckets. They are known if it was enabled in this session. Otherwise it is enabled if
// VPP has an item of it, and stays so when the item is removed; if not, it makes no difference.
func get64(ctx context.Context, vpp *session.VPP) (*settings64, error) {
	if err := globals64.Check(vpp); err != nil {
		return nil, err
	}
	known, err := remembered(vpp, applied64)
	if err != nil {
		return nil, err
	}
	if known == nil {
		if used, err := used64(ctx, vpp); !used || err != nil {
			return nil, err
		}
		known = &settings64{}
		if err := remember(vpp, applied64, known); err != nil {
			return nil, err
		}
	}
	t := &vpp64.Nat64GetTimeoutsReply{}
	if err := vpp.Call(ctx, &vpp64.Nat64GetTimeouts{}, t); err != nil {
		return nil, err
	}
	return &settings64{known.bindings, known.sessions, nat_types.NatTimeouts{
		UDP: t.UDP, TCPEstablished: t.TCPEstablished, TCPTransitory: t.TCPTransitory, ICMP: t.ICMP,
	}}, nil
}

// NewNAT64Global describes the global item.
func NewNAT64Global(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewSingleton(vpp, item.Singleton[*nat64.Global, settings64]{
		Name: NAT64GlobalName, Model: model.NAT64GlobalModel,
		Resolve: func(_ *item.Resolver, v *nat64.Global) settings64 { return settingsOf64(v) },
		Value:   settings64.describe,
		Get:     func(ctx context.Context) (*settings64, error) { return get64(ctx, vpp) },
		Assume: func(found, expected settings64) settings64 {
			if found.bindings == 0 {
				found.bindings, found.sessions = expected.bindings, expected.sessions
			}
			return found
		},
		SessionOnly: func() bool { return globals64.Check(vpp) == nil },
		Recreate:    func(old, s settings64) bool { return old.bindings != s.bindings || old.sessions != s.sessions },
		Set:         func(ctx context.Context, old, s *settings64) error { return set64(ctx, vpp, old, s) },
		KeepsShared: true,
	})
}

func set64(ctx context.Context, vpp *session.VPP, old, s *settings64) error {
	if err := globals64.Check(vpp); err != nil {
		return err
	}
	if s == nil {
		return disable64(ctx, vpp)
	}
	if old == nil {
		on := &vpp64.Nat64PluginEnableDisable{Enable: true, BibBuckets: s.bindings, StBuckets: s.sessions}
		if err := enable64(ctx, vpp, on); err != nil {
			return err
		}
	}
	err := vpp.Call(ctx, &vpp64.Nat64SetTimeouts{
		UDP: s.timeouts.UDP, TCPEstablished: s.timeouts.TCPEstablished, TCPTransitory: s.timeouts.TCPTransitory, ICMP: s.timeouts.ICMP,
	}, &vpp64.Nat64SetTimeoutsReply{})
	switch {
	case err == nil:
		return remember(vpp, applied64, s)
	case old == nil:
		err = errors.Join(err, disable64(ctx, vpp)) // leave nothing half-made
	}
	return err
}

// disable64 disables NAT64, unless other clients of VPP use it.
func disable64(ctx context.Context, vpp *session.VPP) error {
	others, err := usedByOthers64(ctx, vpp)
	if err != nil {
		return err
	}
	if others == "" {
		if err := enable64(ctx, vpp, &vpp64.Nat64PluginEnableDisable{}); err != nil {
			return err
		}
	}
	return errors.Join(remember(vpp, applied64, nil), leftTo("NAT64", others))
}

func enable64(ctx context.Context, vpp *session.VPP, req *vpp64.Nat64PluginEnableDisable) error {
	err := vpp.Call(ctx, req, &vpp64.Nat64PluginEnableDisableReply{})
	if errors.Is(err, alreadyThere) {
		return nil
	}
	return err
}

// parts returns how parts are handled by a VPP that has an operation.
func parts[P any](vpp *session.VPP, op *session.Operation[func(*session.VPP) item.PartCalls[P]]) func() (*item.PartCalls[P], error) {
	return func() (*item.PartCalls[P], error) {
		do, err := op.On(vpp)
		if err != nil {
			return nil, err
		}
		calls := do(vpp)
		return &calls, nil
	}
}

func dependsOnNAT64(r *item.Resolver) {
	r.DependsOn("nat64-global-config-exists", model.NAT64GlobalModel.KeyPrefix())
}

// anyIP6 selects the VRF tables of IPv6.
var anyIP6 = ip_types.Address{Af: ip_types.ADDRESS_IP6}

var interfaces64 = session.Declare("NAT64 interface", nat64Plugin, session.Variant[interfaceCalls](interfacesOf64,
	(*vpp64.Nat64AddDelInterface)(nil), (*vpp64.Nat64AddDelInterfaceReply)(nil),
	(*vpp64.Nat64InterfaceDump)(nil), (*vpp64.Nat64InterfaceDetails)(nil)))

func interfacesOf64(vpp *session.VPP) item.PartCalls[natInterface] {
	flags := map[side]nat_types.NatConfigFlags{inside: nat_types.NAT_IS_INSIDE, outside: nat_types.NAT_IS_OUTSIDE}
	return item.PartCalls[natInterface]{
		Change: func(i natInterface, add bool) (request, reply api.Message) {
			return &vpp64.Nat64AddDelInterface{IsAdd: add, Flags: flags[i.side], SwIfIndex: i.index}, &vpp64.Nat64AddDelInterfaceReply{}
		},
		List: func(ctx context.Context) (all []natInterface, err error) {
			err = session.Each(ctx, vpp, &vpp64.Nat64InterfaceDump{}, func(d *vpp64.Nat64InterfaceDetails) {
				for s, flag := range flags {
					if d.Flags&flag != 0 {
						all = append(all, natInterface{d.SwIfIndex, s})
					}
				}
			})
			return all, err
		},
	}
}

// NewNAT64Interface describes interfaces that take part in NAT64. VPP keeps them when the
// interface is deleted, so they go before. They also go before the VRF table of the interface
// changes: VPP adds the addresses of the pools to it, and would look for them in the new one.
func NewNAT64Interface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewGroup(vpp, ifs, item.Group[*nat64.Interface, natInterface, natInterface]{
		Name: NAT64InterfaceName, Model: model.NAT64InterfaceModel, Parts: parts(vpp, interfaces64),
		Resolve: func(r *item.Resolver, v *nat64.Interface) (all []natInterface) {
			dependsOnNAT64(r)
			index := r.Interface("name", v.GetName())
			r.UsesTableOf(v.GetName())
			if v.GetInside() {
				all = append(all, natInterface{index, inside})
			}
			if v.GetOutside() {
				all = append(all, natInterface{index, outside})
			}
			if len(all) == 0 {
				r.Fail("inside", "false, expected inside, outside or both")
			}
			return all
		},
		ID: func(i natInterface) natInterface { return i },
		Key: func(n *item.Names, i natInterface) string {
			return model.NAT64InterfaceModel.KeyFor(n.Interface(i.index))
		},
		Value: func(n *item.Names, all []natInterface) *nat64.Interface {
			v := &nat64.Interface{}
			for _, i := range all {
				v.Name = n.Interface(i.index)
				v.Inside, v.Outside = v.Inside || i.side == inside, v.Outside || i.side == outside
			}
			return v
		},
		Gone: gone,
		Around: func(_ context.Context, changes func()) error {
			mu, err := changing64.On(vpp)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			changes()
			return nil
		},
	})
}

var addresses64 = session.Declare("NAT64 address pool", nat64Plugin, session.Variant[addressCalls](addressesOf64,
	(*vpp64.Nat64AddDelPoolAddrRange)(nil), (*vpp64.Nat64AddDelPoolAddrRangeReply)(nil),
	(*vpp64.Nat64PoolAddrDump)(nil), (*vpp64.Nat64PoolAddrDetails)(nil)))

func addressesOf64(vpp *session.VPP) item.PartCalls[address] {
	return item.PartCalls[address]{
		Change: func(a address, add bool) (request, reply api.Message) {
			return &vpp64.Nat64AddDelPoolAddrRange{StartAddr: a.addr, EndAddr: a.addr, VrfID: a.vrf, IsAdd: add},
				&vpp64.Nat64AddDelPoolAddrRangeReply{}
		},
		List: func(ctx context.Context) (all []address, err error) {
			err = session.Each(ctx, vpp, &vpp64.Nat64PoolAddrDump{}, func(d *vpp64.Nat64PoolAddrDetails) {
				all = append(all, address{addressID: addressID{addr: d.Address}, vrf: d.VrfID})
			})
			return all, err
		},
	}
}

// address64 is an address of a pool. An address may be in a pool of NAT44 as well.
type address64 addressID

// NewNAT64Pool describes address pools. As for NAT44, VPP knows addresses alone.
func NewNAT64Pool(vpp *session.VPP) *kvs.KVDescriptor {
	value := func(all []address) *nat64.Pool {
		p := poolOf(all)
		return &nat64.Pool{VrfId: p.VrfId, FirstIp: p.FirstIp, LastIp: p.LastIp}
	}
	return item.NewGroup(vpp, nil, item.Group[*nat64.Pool, address, addressID]{
		Name: NAT64PoolName, Model: model.NAT64PoolModel, Parts: parts(vpp, addresses64),
		Resolve: func(r *item.Resolver, v *nat64.Pool) []address {
			dependsOnNAT64(r)
			if v.GetVrfId() != anyVRF {
				r.Table(v.GetVrfId(), anyIP6)
			}
			return addressesOf(r, &nat.Nat44AddressPool{VrfId: v.GetVrfId(), FirstIp: v.GetFirstIp(), LastIp: v.GetLastIp()})
		},
		ID:    func(a address) addressID { return a.addressID },
		Once:  func(a address) any { return address64(a.addressID) },
		Key:   func(_ *item.Names, a address) string { return model.NAT64PoolModel.Key(value([]address{a})) },
		Value: func(_ *item.Names, all []address) *nat64.Pool { return value(all) },
		Taken: func(a address, key string) error {
			return fmt.Errorf("first_ip: %s is in %s already", a.addr, key)
		},
		Exists: exists, Gone: gone,
		Around: func(ctx context.Context, changes func()) error { return withoutOutside64(ctx, vpp, changes) },
	})
}

// changing64 is held while the interfaces or the pools of NAT64 change.
var changing64 = session.NewState(func() *sync.Mutex { return &sync.Mutex{} })

// withoutOutside64 takes the outside interfaces out of NAT64 while its pools change. VPP receives the
// addresses of the pools on each outside interface that is added after them. An address that is added or
// removed later is added to or removed from the table of the first interface alone, and only if that is no
// inside interface as well (nat64_add_del_pool_addr in nat64.c).
func withoutOutside64(ctx context.Context, vpp *session.VPP, changes func()) error {
	mu, err := changing64.On(vpp)
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	do, err := parts(vpp, interfaces64)()
	if err != nil {
		return err
	}
	all, err := do.List(ctx)
	if err != nil {
		return err
	}
	set := func(add bool) (err error) {
		var requests, replies []api.Message
		for _, i := range all {
			if i.side == outside {
				request, reply := do.Change(i, add)
				requests, replies = append(requests, request), append(replies, reply)
			}
		}
		return errors.Join(vpp.CallAll(ctx, requests, replies)...)
	}
	if err := set(false); err != nil {
		return errors.Join(err, set(true))
	}
	changes()
	return set(true)
}

var prefixes64 = item.Declare("NAT64 prefix", nat64Plugin, item.Variant[vpp64.Nat64AddDelPrefix]{
	Change: func(p vpp64.Nat64AddDelPrefix, add bool) (request, reply api.Message) {
		p.IsAdd = add
		return &p, &vpp64.Nat64AddDelPrefixReply{}
	},
	Dumps: []item.Dump[vpp64.Nat64AddDelPrefix]{item.List(&vpp64.Nat64PrefixDump{},
		func(d *vpp64.Nat64PrefixDetails) (vpp64.Nat64AddDelPrefix, bool) {
			return vpp64.Nat64AddDelPrefix{Prefix: d.Prefix, VrfID: d.VrfID}, true
		})},
})

// NewNAT64Prefix describes prefixes. VPP has one for a VRF table, and replaces it.
func NewNAT64Prefix(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewEntry(vpp, nil, item.Entry[*nat64.Prefix, vpp64.Nat64AddDelPrefix, uint32]{
		Name: NAT64PrefixName, Model: model.NAT64PrefixModel, Operation: prefixes64,
		Resolve: func(r *item.Resolver, v *nat64.Prefix) vpp64.Nat64AddDelPrefix {
			dependsOnNAT64(r)
			p := r.Network("prefix", v.GetPrefix())
			switch p.Len {
			case 32, 40, 48, 56, 64, 96:
			default:
				r.Fail("prefix", "has length %d, expected 32, 40, 48, 56, 64 or 96", p.Len)
			}
			if p.Address.Af != ip_types.ADDRESS_IP6 {
				r.Fail("prefix", "%q, expected an IPv6 prefix", v.GetPrefix())
			}
			return vpp64.Nat64AddDelPrefix{
				Prefix: ip_types.IP6Prefix{Address: p.Address.Un.GetIP6(), Len: p.Len}, VrfID: r.Table(v.GetVrfId(), anyIP6),
			}
		},
		ID: func(p vpp64.Nat64AddDelPrefix) uint32 { return p.VrfID },
		Value: func(_ *item.Names, p vpp64.Nat64AddDelPrefix) *nat64.Prefix {
			prefix := ip_types.Prefix{Address: ip_types.Address{Af: ip_types.ADDRESS_IP6, Un: ip_types.AddressUnionIP6(p.Prefix.Address)}, Len: p.Prefix.Len}
			return &nat64.Prefix{Prefix: ipconv.FromPrefix(prefix).String(), VrfId: p.VrfID}
		},
		Changeable: func(_, _ vpp64.Nat64AddDelPrefix) bool { return true },
		Gone:       gone,
	})
}
