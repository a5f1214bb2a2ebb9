package descriptor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.fd.io/govpp/api"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/netalloc"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An interface in VPP is known by an index (sw_if_index) that VPP gives when it
// is created, and by a name of VPP's making. The logical name of the
// configuration is stored in the tag of the interface: an interface without
// tag was made by another client and is left alone (but see unconfirmed.go). How an interface is created
// depends on its type (see linkKind); MTU, MAC address and administrative
// state are the same for all. Addresses, VRF tables and borrowed addresses are
// derived values.

// Options are the settings of interfaces.
type Options struct {
	// MTU is set on interfaces that ask for none, in bytes; 0 leaves the one that
	// VPP chose.
	MTU uint32
	// Host gives access to the interfaces of the kernel; nil if this agent has
	// none.
	Host HostInterfaces
	// Interfaces finds the interfaces that exist. It is not asked before the
	// first interface is created, so it may be filled in after the registration.
	Interfaces index
	// Seed makes generated MAC addresses and instance numbers differ from other agents' ones.
	Seed string
	// Allocated are the addresses that ip_addresses may refer to.
	Allocated netalloc.Addresses
	// State keeps what devices were before the agent changed them; nil: nothing is kept over a
	// restart of the agent.
	State State
	// Changed is called, if not nil, with the index of an interface that was
	// created, changed or deleted; it must not wait for the scheduler.
	Changed func(swIfIndex uint32)
}

type interfaceDescriptor struct {
	vpp   *vppcalls.Calls
	kinds map[interfaces.Interface_Type]linkKind
	mtu   uint32
	alloc netalloc.Addresses
	state State

	ifs     index
	seed    string
	changed func(swIfIndex uint32)
	subs    enabledSubs

	// rewritten are indices of interfaces whose VLAN tags were rewritten; see endRewrite.
	rewritten sync.Map
	// own has the names of the interfaces that the agent created, or that are desired: they get their
	// tag back if another client of VPP removes it.
	own sync.Map
	// hosts has the MTUs of host interfaces; see host_mtu.go.
	hosts hostMTUs
}

// NewInterface describes interfaces.
func NewInterface(vpp *session.VPP, opts Options) *kvs.KVDescriptor {
	calls := vppcalls.New(vpp)
	on := southbound{VPP: vpp, calls: calls, ifs: opts.Interfaces, seed: opts.Seed}
	d := &interfaceDescriptor{vpp: calls, mtu: opts.MTU, alloc: opts.Allocated, state: opts.State, hosts: hostMTUs{state: opts.State}, ifs: opts.Interfaces, seed: opts.Seed, subs: enabledSubs{of: map[string]map[string]bool{}}, kinds: map[interfaces.Interface_Type]linkKind{
		interfaces.Interface_SOFTWARE_LOOPBACK: loopback{loopbacks.with(on)},
		interfaces.Interface_TAP:               taps.with(on),
		interfaces.Interface_AF_PACKET:         afPacket{vpp: calls, host: opts.Host},
		interfaces.Interface_DPDK:              physical{vpp: calls},
		interfaces.Interface_MEMIF:             memif{vpp: calls},
		interfaces.Interface_BOND_INTERFACE:    bond{vpp: calls},
		interfaces.Interface_VXLAN_TUNNEL:      vxlanTunnels.with(on),
		vxlanGPE:                               gpeTunnels.with(on),
		interfaces.Interface_GRE_TUNNEL:        greTunnels.with(on),
		interfaces.Interface_IPIP_TUNNEL:       ipipTunnels.with(on),
		interfaces.Interface_GTPU_TUNNEL:       gtpuTunnels.with(on),
		//lint:ignore SA1019 deprecated, but part of the wire schema
		interfaces.Interface_IPSEC_TUNNEL:      ipsecInterfaces.with(on),
		interfaces.Interface_WIREGUARD_TUNNEL:  wireguards.with(on),
		interfaces.Interface_VMXNET3_INTERFACE: vmxnet3Cards.with(on),
		interfaces.Interface_RDMA:              rdmaCards.with(on),
		interfaces.Interface_MPLS_TUNNEL:       mplsTunnels.with(on),
		interfaces.Interface_SUB_INTERFACE:     subif{vpp: calls, ifs: opts.Interfaces},
	}}
	if d.changed = opts.Changed; d.changed == nil {
		d.changed = func(uint32) {}
	}
	return kvs.Adapt(kvs.Describe(model.InterfaceModel, kvs.Descriptor[*interfaces.Interface, *ifaceidx.IfMeta]{
		Name:                 InterfaceName,
		Southbound:           Southbound,
		WithMetadata:         true,
		ForeignParts:         true,
		Validate:             d.validate,
		Dependencies:         d.dependencies,
		Identities:           d.identities,
		DerivedValues:        derivedValues,
		Without:              withoutDerived,
		ValueComparator:      d.equivalent,
		UpdateWithRecreate:   d.mustRecreate,
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveValueContext: d.retrieveValue,
		RetrieveDependencies: opts.Allocated.RetrieveDependencies(),
	}))
}

// vxlanGPE stands for VXLAN tunnels with gpe, which have the type of the others in the
// configuration, and are of another plugin of VPP.
const vxlanGPE = interfaces.Interface_Type(-1)

// kindOf returns the kind of an interface; nil if there is none.
func (d *interfaceDescriptor) kindOf(i *interfaces.Interface) linkKind {
	if i.GetType() == interfaces.Interface_VXLAN_TUNNEL && isGpe(i) {
		return d.kinds[vxlanGPE]
	}
	return d.kinds[i.GetType()]
}

// dependencies returns the dependencies of the type alone.
func (d *interfaceDescriptor) dependencies(_ string, i *interfaces.Interface) []kvs.Dependency {
	if kind := d.kindOf(i); kind != nil {
		return kind.dependencies(i)
	}
	return nil
}

// identities returns the identities that the type of the interface defines.
func (d *interfaceDescriptor) identities(_ string, i *interfaces.Interface) []string {
	if kind := d.kindOf(i); kind != nil {
		return kind.identities(i)
	}
	return nil
}

func (d *interfaceDescriptor) create(ctx context.Context, _ string, i *interfaces.Interface) (*ifaceidx.IfMeta, error) {
	kind := d.kindOf(i)
	mac, err := wantedMAC(i)
	if err != nil {
		return nil, err
	}
	m, err := kind.create(ctx, i, mac)
	if err != nil {
		return nil, undecided(fmt.Errorf("create %s: %w", i.GetType(), err))
	}
	m.Type, m.Parent = i.GetType(), i.GetSub().GetParentName()
	m.Vrf, m.IPAddresses, m.DHCP = i.GetVrf(), i.GetIpAddresses(), i.GetSetDhcpClient()
	if err := d.finish(ctx, i, m, mac, kind); err != nil {
		return nil, errors.Join(err, d.removeKind(ctx, kind, i, m)) // leave nothing half-made
	}
	d.changed(m.SwIfIndex)
	d.own.Store(i.GetName(), nil)
	return m, nil
}

// undecided marks the refusal of a creation. VPP may have made the interface all the same: a
// reading finds it as it finds one whose creation was interrupted. That another interface is in
// the way is certain.
func undecided(err error) error {
	if refused := api.VPPApiError(0); errors.As(err, &refused) && !errors.Is(err, kvs.ErrInvalid) {
		return kvs.Undecided(err)
	}
	return err
}

// removeKind deletes an interface together with its tag. If VPP refuses to delete the
// interface, it gets the tag again, by which the next attempt finds it.
func (d *interfaceDescriptor) removeKind(ctx context.Context, kind linkKind, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	d.subs.note(i, false)
	if kind.traits().found {
		if err := d.giveBack(ctx, i, m); err != nil {
			return err
		}
	}
	if initialMTU(kind, i) == ifaceidx.UnknownMTU {
		d.keepInitial(i.GetName(), nil)
	}
	if err := d.restoreHostMTU(ctx, i, m); err != nil {
		return err
	}
	if !kind.traits().hidden {
		return kind.remove(ctx, i, m)
	}
	if err := d.vpp.RemoveTag(ctx, m.SwIfIndex); session.Gone(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("remove tag: %w", err)
	}
	err := kind.remove(ctx, i, m)
	if refused := api.VPPApiError(0); errors.As(err, &refused) {
		if tagErr := d.vpp.SetTag(ctx, m.SwIfIndex, i.GetName()); tagErr != nil {
			return fmt.Errorf("%w; set tag: %w", err, tagErr)
		}
	}
	return err
}

// finish completes an interface that was just created. The tag comes first:
// it reports whose the interface is if the agent ends in between.
func (d *interfaceDescriptor) finish(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta, mac *vppcalls.MAC, kind linkKind) error {
	if !kind.traits().tagged {
		if err := d.vpp.SetTag(ctx, m.SwIfIndex, i.GetName()); err != nil {
			return fmt.Errorf("set tag: %w", err)
		}
	}
	if err := errors.Join(d.initialise(ctx, i, m, kind), d.endRewrite(ctx, i, m)); err != nil {
		return err
	}
	if mac != nil && kind.traits().macAfter {
		if err := d.vpp.SetMAC(ctx, m.SwIfIndex, *mac); err != nil {
			return fmt.Errorf("set MAC address: %w", err)
		}
	}
	if mtu := d.wantedMTU(i); mtu != 0 {
		if err := d.withHostMTU(ctx, i, m, func() error { return d.setMTU(ctx, i, m, mtu) }); err != nil {
			return err
		}
	}
	d.subs.note(i, i.GetEnabled())
	if i.GetEnabled() != kind.traits().startsUp {
		return d.setAdminState(ctx, i, m)
	}
	return nil
}

func (d *interfaceDescriptor) setMTU(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta, mtu uint32) error {
	set := d.vpp.SetMTU
	if d.kindOf(i).traits().packetMTU {
		set = d.vpp.SetPacketMTU
	}
	if err := set(ctx, m.SwIfIndex, mtu); err != nil {
		return fmt.Errorf("set MTU %d: %w", mtu, err)
	}
	return nil
}

func (d *interfaceDescriptor) update(ctx context.Context, _ string, old, i *interfaces.Interface, m *ifaceidx.IfMeta) (*ifaceidx.IfMeta, error) {
	if m == nil {
		return nil, fmt.Errorf("interface %q is not known to exist in VPP", i.GetName())
	}
	if old.GetEnabled() != i.GetEnabled() {
		if err := d.changeAdminState(ctx, i, m); err != nil {
			return m, err
		}
	}
	if !d.sameMAC(old, i) {
		if err := d.updateMAC(ctx, i, m); err != nil {
			return m, err
		}
	}
	if !d.sameMTU(old, i) {
		if err := d.updateMTU(ctx, i, m); err != nil {
			return m, err
		}
	}
	if k, ok := d.kindOf(i).(linkUpdater); ok && !d.sameLink(old, i) {
		if err := k.updateLink(ctx, old, i, m); err != nil {
			return m, err
		}
	}
	d.changed(m.SwIfIndex)
	now := *m
	now.Vrf, now.IPAddresses, now.DHCP = i.GetVrf(), i.GetIpAddresses(), i.GetSetDhcpClient()
	now.ChosenMAC = i.GetPhysAddress()
	return &now, nil
}

func (d *interfaceDescriptor) changeAdminState(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	if err := d.setAdminState(ctx, i, m); err != nil || i.GetEnabled() {
		return err
	}
	return d.kindOf(i).afterAdminDown(ctx, i, m)
}

func (d *interfaceDescriptor) remove(ctx context.Context, _ string, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	kind := d.kindOf(i)
	if kind == nil {
		return kvs.Permanent(unsupportedType(i.GetType()))
	}
	if m == nil {
		found, err := d.find(ctx, i.GetName())
		if found == nil || err != nil {
			return err // nothing there: nothing to delete
		}
		m = &ifaceidx.IfMeta{SwIfIndex: found.SwIfIndex, InternalName: found.Name}
	}
	defer d.changed(m.SwIfIndex)
	d.own.Delete(i.GetName())
	return d.removeKind(ctx, kind, i, m)
}

// equivalent reports that nothing has to be done to make the new out of the old
// interface.
func (d *interfaceDescriptor) equivalent(_ string, old, i *interfaces.Interface) bool {
	if old.GetType() != i.GetType() || old.GetEnabled() != i.GetEnabled() || !d.sameLink(old, i) {
		return false
	}
	if old.GetSetDhcpClient() != i.GetSetDhcpClient() {
		return false
	}
	if old.GetUnnumbered().GetInterfaceWithIp() != i.GetUnnumbered().GetInterfaceWithIp() {
		return false
	}
	if i.GetUnnumbered() == nil && old.GetVrf() != i.GetVrf() {
		return false
	}
	return d.sameMTU(old, i) && d.sameMAC(old, i) && sameAddresses(old.GetIpAddresses(), i.GetIpAddresses())
}

func (d *interfaceDescriptor) mustRecreate(_ string, old, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
	if old.GetType() != i.GetType() {
		return true
	}
	kind := d.kindOf(i)
	if !d.sameLink(old, i) {
		if k, ok := kind.(linkUpdater); !ok || d.unknownLink(old) || !k.inPlace(old, i) {
			return true
		}
	}
	return kind != nil && !kind.traits().macInPlace && !d.sameMAC(old, i)
}

// sameLink compares links as their kind does. A link that is missing although it is not
// optional is unknown (see doubtLink): it differs from all others.
func (d *interfaceDescriptor) sameLink(a, b *interfaces.Interface) bool {
	kind := d.kindOf(a)
	return kind != nil && isGpe(a) == isGpe(b) && d.unknownLink(a) == d.unknownLink(b) && kind.sameLink(a, b)
}

// wantedMTU is the MTU to set; 0: none.
func (d *interfaceDescriptor) wantedMTU(i *interfaces.Interface) uint32 {
	if kind := d.kindOf(i); i.GetMtu() != 0 || kind == nil || kind.traits().packetMTU {
		return i.GetMtu()
	}
	return d.mtu
}

// wantedMAC is the MAC address to set; nil: none.
func wantedMAC(i *interfaces.Interface) (*vppcalls.MAC, error) {
	if i.GetPhysAddress() == "" {
		return nil, nil
	}
	mac, err := ipconv.ParseMAC(i.GetPhysAddress())
	if err != nil {
		return nil, fmt.Errorf("phys_address: %w", err)
	}
	return &mac, nil
}

func sameAddresses(a, b []string) bool {
	set := make(map[string]bool, len(a))
	for _, addr := range a {
		set[canonical(addr)] = true
	}
	other := make(map[string]bool, len(b))
	for _, addr := range b {
		c := canonical(addr)
		if !set[c] {
			return false
		}
		other[c] = true
	}
	return len(other) == len(set)
}

// canonical is the usual form of an address with prefix length.
func canonical(addr string) string {
	if p, err := netallocmodel.ParseAddress(addr); err == nil {
		return p.String()
	}
	return addr
}
