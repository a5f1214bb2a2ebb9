package descriptor

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

type interfaceKV = kvs.KV[*interfaces.Interface, *ifaceidx.IfMeta]

// reading is one reading of the interfaces of VPP.
type reading struct {
	d       *interfaceDescriptor
	all     []vppcalls.Details
	kinds   map[interfaces.Interface_Type]recogniser // read when needed
	lenders map[uint32]uint32
	address map[uint32]vppcalls.Addressing // of those with a tag that borrow none
	queues  map[uint32][]vppcalls.RxQueue  // read when needed
	members map[uint32]uint32              // bonds by their members
	dhcp    map[uint32]vppcalls.DHCPClient
	virtual map[uint32][]netip.Addr // of virtual routers
	names   map[uint32]string       // tags by index
	wanted  map[string]*interfaces.Interface
	metas   map[string]*ifaceidx.IfMeta        // of the last reading
	kept    map[string]keptInitial             // read when needed
	doubted map[string][]*interfaces.Interface // those of unknown outcome: what they may be
}

// retrieve returns the interfaces with a tag and local0, which belongs to VPP.
// A name that VPP has more than once (an agent ended before it saw that its
// request had succeeded) is returned once, the rest with a suffix, so that they
// are removed.
func (d *interfaceDescriptor) retrieve(ctx context.Context, correlate []interfaceKV) ([]interfaceKV, error) {
	r, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	derived := r.expect(correlate)
	r.doubt(correlate)
	if err := r.claimUntagged(ctx, correlate); err != nil {
		return nil, err
	}
	if err := d.removeRests(ctx, correlate); err != nil {
		return nil, err
	}
	if err := r.readAddresses(ctx, r.all...); err != nil {
		return nil, err
	}
	seen := map[string]int{}
	var out []interfaceKV
	for _, found := range r.all {
		if found.SwIfIndex == 0 {
			out = append(out, local(found))
			continue
		}
		i, m, err := r.interfaceOf(ctx, found)
		if err != nil {
			return nil, err
		}
		if i == nil {
			continue
		}
		if derived[i.Name] {
			if err := r.resetTables(ctx, i, m); err != nil {
				return nil, fmt.Errorf("interface %q: %w", i.Name, err)
			}
		}
		if seen[i.Name]++; seen[i.Name] > 1 {
			i.Name += "-DUPLICATE" + strconv.Itoa(seen[i.Name])
		}
		out = append(out, interfaceKV{Key: model.InterfaceModel.Key(i), Value: i, Metadata: m, Origin: kvs.FromNB})
	}
	return append(out, r.untaggedParts()...), nil
}

// expect notes the values that VPP may have. It returns the names of those for which Retrieve
// decides which derived values exist.
func (r *reading) expect(correlate []interfaceKV) (derived map[string]bool) {
	derived = map[string]bool{}
	for _, kv := range correlate {
		if kv.Origin == kvs.FromSB {
			r.d.own.Delete(kv.Value.GetName())
		} else {
			r.d.own.Store(kv.Value.GetName(), nil)
		}
		derived[kv.Value.GetName()] = derived[kv.Value.GetName()] || kv.DerivedUnconfirmed
		if r.wanted[kv.Value.GetName()] == nil { // what VPP had comes first
			r.wanted[kv.Value.GetName()] = kv.Value
		}
		if kv.Metadata != nil {
			r.metas[kv.Value.GetName()] = kv.Metadata
		}
	}
	return derived
}

func (d *interfaceDescriptor) retrieveValue(ctx context.Context, _ string, last *interfaces.Interface, meta *ifaceidx.IfMeta) (
	*interfaces.Interface, *ifaceidx.IfMeta, bool, error) {
	r, err := d.read(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	r.wanted[last.GetName()], r.metas[last.GetName()] = last, meta
	origin := kvs.FromSB
	if _, own := d.own.Load(last.GetName()); own {
		origin = kvs.FromNB
	}
	known := []interfaceKV{{Value: last, Metadata: meta, Origin: origin}}
	r.doubt(known)
	if err := r.claimUntagged(ctx, known); err != nil {
		return nil, nil, false, err
	}
	for _, found := range r.all {
		if found.Tag == last.GetName() {
			if err := r.readAddresses(ctx, found); err != nil {
				return nil, nil, false, err
			}
			i, m, err := r.interfaceOf(ctx, found)
			return i, m, i != nil, err
		}
	}
	return nil, nil, false, nil
}

// find returns the interface with the tag, or nil.
func (d *interfaceDescriptor) find(ctx context.Context, name string) (*vppcalls.Details, error) {
	all, err := d.vpp.DumpInterfaces(ctx)
	if err != nil {
		return nil, err
	}
	for n := range all {
		if all[n].Tag == name {
			return &all[n], nil
		}
	}
	return nil, nil
}

func (d *interfaceDescriptor) read(ctx context.Context) (*reading, error) {
	r := &reading{
		d: d, kinds: map[interfaces.Interface_Type]recogniser{}, names: map[uint32]string{}, wanted: map[string]*interfaces.Interface{},
		metas: map[string]*ifaceidx.IfMeta{},
	}
	var err error
	if r.all, err = d.vpp.DumpInterfaces(ctx); err != nil {
		return nil, err
	}
	if r.lenders, err = d.vpp.DumpUnnumbered(ctx); err != nil {
		return nil, err
	}
	if r.dhcp, err = d.vpp.DumpDHCP(ctx); err != nil {
		return nil, err
	}
	if r.virtual, err = d.vpp.DumpVirtualAddresses(ctx); err != nil {
		return nil, err
	}
	if r.members, err = d.bondMembers(ctx, r.all); err != nil {
		return nil, err
	}
	slices.SortFunc(r.all, func(a, b vppcalls.Details) int { return int(a.SwIfIndex) - int(b.SwIfIndex) })
	for _, found := range r.all {
		r.names[found.SwIfIndex] = found.Tag
		if found.Rewrite.Op != 0 {
			d.rewritten.Store(found.SwIfIndex, nil)
		}
	}
	return r, nil
}

// readAddresses asks VPP for the addresses of interfaces, as far as they are of
// interest.
func (r *reading) readAddresses(ctx context.Context, all ...vppcalls.Details) (err error) {
	var indexes []uint32
	for _, found := range all {
		if _, borrows := r.lenders[found.SwIfIndex]; found.Tag != "" && !borrows {
			indexes = append(indexes, found.SwIfIndex)
		}
	}
	r.address, err = r.d.vpp.DumpAddressing(ctx, indexes)
	return err
}

// bondMembers returns the bonds of the interfaces that are in bonds, if there are bonds.
func (d *interfaceDescriptor) bondMembers(ctx context.Context, all []vppcalls.Details) (map[uint32]uint32, error) {
	if !slices.ContainsFunc(all, func(d vppcalls.Details) bool { return d.DevType == vppcalls.BondDevice }) {
		return nil, nil
	}
	bonds, err := d.vpp.DumpBonds(ctx)
	members := map[uint32]uint32{}
	for index, b := range bonds {
		for _, m := range b.Members {
			members[uint32(m.SwIfIndex)] = index
		}
	}
	return members, err
}

// untaggedParts returns the members of bonds and the sub-interfaces that have no name, of those that
// have one. They are foreign parts.
func (r *reading) untaggedParts() []interfaceKV {
	var others item.Foreign[*interfaces.Interface, *ifaceidx.IfMeta]
	add := func(of uint32, what string, part vppcalls.Details) {
		if name := r.names[of]; name != "" {
			i := &interfaces.Interface{Name: name}
			others.Add(model.InterfaceModel.Key(i), i, fmt.Sprintf("%s %d (%s), which has no tag", what, part.SwIfIndex, part.Name))
		}
	}
	for _, found := range r.all {
		if found.Tag != "" {
			continue
		}
		if bond, is := r.members[found.SwIfIndex]; is {
			add(bond, "member", found)
		}
		if found.SubInterface {
			add(found.Parent, "sub-interface", found)
		}
	}
	return others.All
}

// local describes the interface that every VPP has.
func local(d vppcalls.Details) interfaceKV {
	i := &interfaces.Interface{Name: localName, Type: interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: d.AdminUp}
	return interfaceKV{
		Key: model.InterfaceModel.Key(i), Value: i, Origin: kvs.FromSB,
		Metadata: &ifaceidx.IfMeta{SwIfIndex: d.SwIfIndex, InternalName: d.Name, DevType: d.DevType},
	}
}

// interfaceOf describes an interface of VPP; nil if it has no tag or is of a
// type that this agent cannot have made.
func (r *reading) interfaceOf(ctx context.Context, found vppcalls.Details) (*interfaces.Interface, *ifaceidx.IfMeta, error) {
	if found.Tag == "" {
		return nil, nil, nil
	}
	wanted := r.wanted[found.Tag]
	i := &interfaces.Interface{
		Name: found.Tag, Enabled: found.AdminUp, Mtu: found.OwnMTU, PhysAddress: r.physAddress(found, wanted),
	}
	m := &ifaceidx.IfMeta{SwIfIndex: found.SwIfIndex, InternalName: found.Name, DevType: found.DevType}
	if known, err := r.recognised(ctx, found, wanted, i, m); !known {
		return nil, nil, err
	}
	kvs.AddUnmodeled(i, item.Unmodeled(found.ProtocolMTU, vppcalls.ProtocolMTU{})...)
	addRewrite(found, i)
	encap := i.Vrf
	if err := r.doubtLink(ctx, found, i); err != nil {
		return nil, nil, err
	}
	r.readSubState(found, wanted, i)
	if i.Mtu > maxMTU {
		i.Mtu = 0 // no limit of its own
	}
	if err := r.addSources(i, m); err != nil {
		return nil, nil, fmt.Errorf("interface %q: %w", i.Name, err)
	}
	if err := r.addAddresses(ctx, i, m, wanted); err != nil {
		return nil, nil, fmt.Errorf("interface %q: %w", i.Name, err)
	}
	if ipv4, ipv6 := underlay(i); (ipv4 || ipv6) && i.GetGtpu() == nil && i.Vrf != encap && wanted.GetVrf() != encap {
		kvs.AddUnmodeled(i, fmt.Sprintf("a table for the tunnel of its own: %d", encap))
	}
	if err := r.addQueues(ctx, i, m, wanted); err != nil {
		return nil, nil, fmt.Errorf("interface %q: %w", i.Name, err)
	}
	m.Type, m.Parent, m.Vrf, m.IPAddresses = i.Type, i.GetSub().GetParentName(), i.Vrf, i.IpAddresses
	r.addInitial(found, i, m)
	if wanted != nil {
		m.IPAddresses = wanted.GetIpAddresses() // those too that wait for the VRF table
	}
	return i, m, nil
}

func (r *reading) isMember(index uint32) bool {
	_, is := r.members[index]
	return is
}

// physAddress returns the MAC address of an interface. A member of a bond has the address of the
// bond, and gets its own back when it leaves.
func (r *reading) physAddress(found vppcalls.Details, wanted *interfaces.Interface) string {
	switch {
	case r.isMember(found.SwIfIndex) && wanted.GetPhysAddress() != "":
		return wanted.GetPhysAddress()
	case found.MAC != (vppcalls.MAC{}):
		return found.MAC.String()
	}
	return ""
}

// recognised describes the part of an interface that depends on its type; false
// if no type claims it.
func (r *reading) recognised(ctx context.Context, found vppcalls.Details, wanted, i *interfaces.Interface, m *ifaceidx.IfMeta) (bool, error) {
	for t, kind := range r.d.kinds {
		if !kind.claims(found) {
			continue
		}
		recognise, ok := r.kinds[t]
		if !ok {
			var err error
			recognise, err = kind.read(ctx, func(idx uint32) string { return r.names[idx] })
			if err != nil {
				return false, err
			}
			r.kinds[t] = recognise
		}
		return recognise(found, wanted, i, m), nil
	}
	return false, nil
}

// addSources notes where the interface gets addresses from by itself.
func (r *reading) addSources(i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	var client vppcalls.DHCPClient
	if client, i.SetDhcpClient = r.dhcp[m.SwIfIndex]; i.SetDhcpClient {
		kvs.AddUnmodeled(i, item.Unmodeled(client.Settings, vppcalls.DHCPSettings{})...)
		if client.HostName != i.GetName() {
			kvs.AddUnmodeled(i, fmt.Sprintf("hostname %q of the DHCP client", client.HostName))
		}
	}
	m.DHCP = i.SetDhcpClient
	nd, known, err := r.d.vpp.IP6ND(m.SwIfIndex)
	if known {
		i.Ip6Nd = &interfaces.Interface_IP6ND{AddressAutoconfig: nd.Autoconfig, InstallDefaultRoutes: nd.DefaultRoutes}
	}
	return err
}

// obtained reports that an interface got an address by itself: by DHCP, as the
// master among virtual routers, or because a router advertised the network.
func (r *reading) obtained(a netip.Prefix, i *interfaces.Interface, m *ifaceidx.IfMeta, wanted *interfaces.Interface) bool {
	if lease := r.dhcp[m.SwIfIndex].Lease; lease != nil && lease.Address == a {
		return true
	}
	literals := r.d.alloc.Literals(wanted.GetIpAddresses(), wanted.GetName())
	if slices.ContainsFunc(literals, func(text string) bool { return ipconv.SamePrefix(text, a.String()) }) {
		return false
	}
	if slices.Contains(r.virtual[m.SwIfIndex], a.Addr()) {
		return true
	}
	listens := i.GetIp6Nd().GetAddressAutoconfig() || wanted.GetIp6Nd().GetAddressAutoconfig()
	return listens && a.Addr().Is6()
}

func (r *reading) addAddresses(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta, wanted *interfaces.Interface) error {
	if lender, ok := r.lenders[m.SwIfIndex]; ok {
		// The addresses that VPP would report now are borrowed.
		i.Vrf = wanted.GetVrf()
		if name := r.names[lender]; name != "" {
			i.Unnumbered = &interfaces.Interface_Unnumbered{InterfaceWithIp: name}
		} else {
			kvs.AddUnmodeled(i, fmt.Sprintf("unnumbered to interface %d, which has no tag", lender))
		}
		return nil
	}
	var anyV6 bool
	for _, a := range r.address[m.SwIfIndex].Addresses {
		if !r.obtained(a, i, m, wanted) {
			anyV6 = anyV6 || a.Addr().Is6()
			i.IpAddresses = append(i.IpAddresses, r.d.alloc.Restore(a.String(), wanted.GetIpAddresses(), wanted.GetName()))
		}
	}
	local, err := r.linkLocal(ctx, m.SwIfIndex, wanted)
	if err != nil {
		return err
	}
	i.IpAddresses = append(i.IpAddresses, local...)
	under4, under6 := underlay(i)
	obtains := i.SetDhcpClient || i.Ip6Nd != nil
	if len(i.IpAddresses) == 0 && wanted != nil && !under4 && !under6 && !obtains {
		// The table has a meaning only together with addresses.
		i.Vrf = wanted.GetVrf()
		return nil
	}
	// A tunnel in another table than the one it sends in shows as moved.
	ipv6 := anyV6 || under6 || i.Ip6Nd != nil && !i.SetDhcpClient
	vrf, known := r.address[m.SwIfIndex].Vrf[ipv6]
	if !known {
		vrf, err = r.d.vpp.Table(ctx, m.SwIfIndex, ipv6)
	}
	i.Vrf = vrf
	return err
}

// linkLocal returns the wanted IPv6 link-local address if the interface has it.
// VPP does not list it with the others, and gives every interface one.
func (r *reading) linkLocal(ctx context.Context, swIfIndex uint32, wanted *interfaces.Interface) ([]string, error) {
	for _, text := range wanted.GetIpAddresses() {
		p, err := netallocmodel.ParseAddress(text)
		if err != nil || !vppcalls.IsLinkLocal(p) {
			continue
		}
		has, known, err := r.d.vpp.LinkLocal(ctx, swIfIndex)
		if err != nil {
			return nil, err
		}
		if !known || has == p.Addr() {
			return []string{text}, nil
		}
		return nil, nil
	}
	return nil, nil
}

// addQueues notes modes and placements of those receive queues that another process
// has a wish for: every interface has queues.
func (r *reading) addQueues(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta, wanted *interfaces.Interface) error {
	if len(wanted.GetRxModes()) == 0 && len(wanted.GetRxPlacements()) == 0 {
		return nil
	}
	if r.queues == nil {
		var err error
		if r.queues, err = r.d.vpp.DumpRxQueues(ctx); err != nil {
			return err
		}
	}
	queues := r.queues[m.SwIfIndex]
	if len(wanted.GetRxModes()) > 0 {
		i.RxModes = foundModes(i, wanted, queues)
	}
	for _, p := range wanted.GetRxPlacements() {
		for _, q := range queues {
			if q.ID != p.GetQueue() {
				continue
			}
			found := &interfaces.Interface_RxPlacement{Queue: q.ID, MainThread: q.Thread == 0}
			if q.Thread > 0 {
				found.Worker = q.Thread - 1
			}
			if threadOf(p) == q.Thread {
				found = p
			}
			i.RxPlacements = append(i.RxPlacements, found)
		}
	}
	return nil
}

// foundModes returns the wanted modes if all queues have them, else the modes
// that the queues have.
func foundModes(i, wanted *interfaces.Interface, queues []vppcalls.RxQueue) []*interfaces.Interface_RxMode {
	modes, same := rxModesOf(wanted), len(queues) > 0
	found := make([]*interfaces.Interface_RxMode, 0, len(queues))
	for _, q := range queues {
		same = same && (i.GetType() != wanted.GetType() || modes.of(q.ID) == q.Mode)
		found = append(found, &interfaces.Interface_RxMode{Queue: q.ID, Mode: interfaces.Interface_RxMode_Type(q.Mode)})
	}
	if same {
		return wanted.GetRxModes()
	}
	return found
}
