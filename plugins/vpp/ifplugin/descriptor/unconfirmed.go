package descriptor

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Most interfaces get their tag after they were created. If VPP stopped answering, or
// the agent was killed, in between, the interface exists without a tag. It is
// recognised by what its creation gave it and no other interface has: the ends of a
// tunnel, the ID of a memif, the host interface, or the MAC address. This is done for
// operations that were begun and whose outcome is unknown, and for interfaces with the
// index of one of the agent's that lost its tag: any other interface without a tag belongs to another
// client of VPP.

// creationMark is a kind whose sameLink does not distinguish an interface that was just
// created from all others.
type creationMark interface {
	// created reports whether found, which is described by i, is what create makes of
	// want.
	created(found vppcalls.Details, i, want *interfaces.Interface) bool
}

// restRemover is a kind whose creation and removal take several steps, between which
// something else than the interface may be left.
type restRemover interface {
	// removeRest removes what want left; if there is nothing, that is a success.
	removeRest(ctx context.Context, want *interfaces.Interface) error
}

// removeRests removes what operations of unknown outcome left besides interfaces.
func (d *interfaceDescriptor) removeRests(ctx context.Context, correlate []interfaceKV) error {
	for _, kv := range correlate {
		if k, ok := d.kindOf(kv.Value).(restRemover); ok && kv.Unconfirmed {
			if err := k.removeRest(ctx, kv.Value); err != nil {
				return fmt.Errorf("interface %q: %w", kv.Value.GetName(), err)
			}
		}
	}
	return nil
}

// claimUntagged tags the interfaces that operations of unknown outcome have created, and those
// whose tag another client removed.
func (r *reading) claimUntagged(ctx context.Context, correlate []interfaceKV) error {
	tagged := make(map[string]bool, len(r.all))
	for _, found := range r.all {
		tagged[found.Tag] = true
	}
	var wanted []interfaceKV
	for _, kv := range correlate {
		if name := kv.Value.GetName(); name != "" && !tagged[name] && mayLackTag(kv) {
			wanted = append(wanted, kv)
		}
	}
	for claimed := true; claimed && len(wanted) > 0; { // a sub-interface after its parent
		claimed = false
		for n := range r.all {
			if found := &r.all[n]; found.Tag == "" && found.SwIfIndex != 0 {
				at, err := r.creationOf(ctx, *found, wanted)
				if err != nil {
					return err
				}
				if at < 0 {
					continue
				}
				name := wanted[at].Value.GetName()
				if err := r.d.vpp.SetTag(ctx, found.SwIfIndex, name); err != nil {
					return fmt.Errorf("tag %s, which interface %q was created as: %w", found.Name, name, err)
				}
				found.Tag, r.names[found.SwIfIndex], claimed = name, name, true
				wanted = slices.DeleteFunc(wanted, func(kv interfaceKV) bool { return kv.Value.GetName() == name })
			}
		}
	}
	return nil
}

// mayLackTag reports whether the interface of a value may exist without a tag.
func mayLackTag(kv interfaceKV) bool {
	return kv.Unconfirmed || kv.Metadata != nil && kv.Origin != kvs.FromSB
}

// creationOf returns the place of the value that an interface was created for, -1 if
// there is none.
func (r *reading) creationOf(ctx context.Context, found vppcalls.Details, wanted []interfaceKV) (int, error) {
	for at, kv := range wanted {
		want := kv.Value
		if m := kv.Metadata; !kv.Unconfirmed && (m.SwIfIndex != found.SwIfIndex || m.InternalName != "" && m.InternalName != found.Name) {
			continue
		}
		found.Tag = want.GetName()
		kind := r.d.kindOf(want)
		if kind == nil || !kind.claims(found) {
			continue
		}
		i := &interfaces.Interface{Name: want.GetName()}
		known, err := r.recognised(ctx, found, want, i, &ifaceidx.IfMeta{})
		if err != nil {
			return -1, err
		}
		same := kind.sameLink
		if k, ok := kind.(creationMark); ok {
			same = func(i, want *interfaces.Interface) bool { return k.created(found, i, want) }
		}
		if known && same(i, want) && sameMAC(found, want, kind) {
			return at, nil
		}
	}
	return -1, nil
}

// doubt notes what interfaces may be: those that operations of unknown outcome were to create
// or replace, and those whose links were unknown before.
func (r *reading) doubt(correlate []interfaceKV) {
	r.doubted = map[string][]*interfaces.Interface{}
	for _, kv := range correlate {
		if kv.Unconfirmed || kv.Metadata != nil && r.d.unknownLink(kv.Value) {
			r.doubted[kv.Value.GetName()] = nil
		}
	}
	for _, kv := range correlate {
		if may, ok := r.doubted[kv.Value.GetName()]; ok {
			r.doubted[kv.Value.GetName()] = append(may, kv.Value)
		}
	}
}

// doubtLink makes the link of i, as it was read from found, unknown if the interface may
// have one of several links that only VPP could distinguish, and does not. An interface
// whose link is unknown is re-created.
func (r *reading) doubtLink(ctx context.Context, found vppcalls.Details, i *interfaces.Interface) error {
	for _, may := range r.doubted[i.GetName()] {
		if may.GetType() != i.GetType() || !r.d.needsLink(i) {
			continue
		}
		as := &interfaces.Interface{Name: i.GetName()}
		if known, err := r.recognised(ctx, found, may, as, &ifaceidx.IfMeta{}); !known {
			return err
		}
		if r.d.unknownLink(may) || !r.d.sameLink(i, as) {
			i.Link = nil
			return nil
		}
	}
	return nil
}

// needsLink reports that a link is mandatory for the type of an interface.
func (d *interfaceDescriptor) needsLink(i *interfaces.Interface) bool {
	kind := d.kindOf(i)
	return kind != nil && kind.traits().link != nil && !kind.traits().linkOptional
}

// unknownLink reports that the link of an interface is unknown; see doubtLink.
func (d *interfaceDescriptor) unknownLink(i *interfaces.Interface) bool {
	return linkOf(i) == nil && d.needsLink(i)
}

// sameMAC reports whether an interface that was just created has the MAC address of the
// configuration, if the creation sets that.
func sameMAC(found vppcalls.Details, want *interfaces.Interface, kind linkKind) bool {
	mac, err := wantedMAC(want)
	return err == nil && (mac == nil || kind.traits().macAfter || found.MAC == *mac)
}

// resetTables puts an interface back into table 0 for a version of IP that it has no
// addresses of. The table is chosen before the addresses are set, and follows from them:
// no value says that an interface without addresses is in another table. An operation of
// unknown outcome may have chosen a table for addresses that were never set. A membership
// that stays on record is not touched: the addresses follow when they are retried.
func (r *reading) resetTables(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	if i.GetUnnumbered() != nil || i.GetSetDhcpClient() || i.GetIp6Nd() != nil {
		return nil
	}
	ipv4, ipv6 := underlay(i)
	for _, text := range r.d.alloc.Literals(i.GetIpAddresses(), i.GetName()) {
		p, err := netallocmodel.ParseAddress(text)
		ipv4, ipv6 = ipv4 || err == nil && p.Addr().Is4(), ipv6 || err == nil && p.Addr().Is6()
	}
	for _, version := range []struct{ needed, ipv6 bool }{{ipv4, false}, {ipv6, true}} {
		if version.needed {
			continue
		}
		vrf, err := r.d.vpp.Table(ctx, m.SwIfIndex, version.ipv6)
		if err == nil && vrf != 0 {
			err = r.d.vpp.SetTable(ctx, m.SwIfIndex, 0, version.ipv6)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// madeUpMAC is the locally administered MAC address of an interface whose
// configuration has none: always the same for one name and one seed.
func madeUpMAC(seed, name string) vppcalls.MAC {
	sum := sha256.Sum256([]byte(seed + "\x00" + name))
	mac := vppcalls.MAC(sum[:6])
	mac[0] = mac[0]&^1 | 2
	return mac
}
