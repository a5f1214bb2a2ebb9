package constraints

import (
	"cmp"
	"fmt"
	"net/netip"

	linux "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"

	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
)

func linuxConstraints() []Constraint {
	return []Constraint{
		{"linux-name-twice", true, "Links have different names in one namespace.", linuxNameTwice},
		{"linux-vlan-twice", true, "The VLAN links of one parent have different VLANs.", linuxVLANTwice},
		{"linux-veth-peers", true, "Both ends of a VETH pair name each other.", vethPeers},
		{"linux-address-twice", false, "Links in one namespace have different addresses.", linuxAddressTwice},
		{"linux-member-addresses", false, "A member of a bridge or bond of Linux has no addresses.", linuxMemberAddresses},
	}
}

// namespaceOf identifies the namespace of a link.
func namespaceOf(l link) string {
	ns := l.v.GetNamespace()
	if ns.GetReference() == "" {
		return ""
	}
	return fmt.Sprint(ns.GetType(), " ", ns.GetReference())
}

func linuxNameTwice(f *facts, report reporter) {
	id := func(l link) hostName {
		switch l.v.GetType() {
		case linux.Interface_EXISTING, linux.Interface_LOOPBACK: // they name what others make
			return hostName{}
		}
		return hostName{cmp.Or(l.v.GetHostIfName(), l.v.GetName()), namespaceOf(l)}
	}
	unique(f.links, id, func(a, b link) {
		field := "host_if_name"
		if b.v.GetHostIfName() == "" {
			field = "name"
		}
		report(b.key, field, a.key, "%s is the name of link %s in the same namespace already", cmp.Or(b.v.GetHostIfName(), b.v.GetName()), a.v.GetName())
	})
}

// linuxVLAN is the identity of a VLAN link.
type linuxVLAN struct {
	parent   string
	id       uint32
	protocol linux.VlanLink_Protocol
}

func linuxVLANTwice(f *facts, report reporter) {
	id := func(l link) linuxVLAN {
		v := l.v.GetVlan()
		return linuxVLAN{v.GetParentInterface(), v.GetVlanId(), v.GetProtocol()}
	}
	unique(f.links, id, func(a, b link) {
		report(b.key, "vlan.vlan_id", a.key, "link %[3]s has VLAN %[1]d of %[2]s already", b.v.GetVlan().GetVlanId(), b.v.GetVlan().GetParentInterface(), a.v.GetName())
	})
}

func vethPeers(f *facts, report reporter) {
	for _, l := range f.links {
		if l.v.GetType() != linux.Interface_VETH {
			continue
		}
		peer := f.linkOf[l.v.GetVeth().GetPeerIfName()]
		switch {
		case peer == nil || peer == l.v:
		case peer.GetType() != linux.Interface_VETH:
			report(l.key, "veth.peer_if_name", "", "%s is of type %s, expected VETH", peer.GetName(), peer.GetType())
		case peer.GetVeth().GetPeerIfName() != l.v.GetName():
			report(l.key, "veth.peer_if_name", "", "%s has the peer %s, expected %s", peer.GetName(), peer.GetVeth().GetPeerIfName(), l.v.GetName())
		}
	}
}

// linuxAddress is an address of a link.
type linuxAddress struct {
	of    link
	addr  netip.Addr
	field string
}

func linuxAddressTwice(f *facts, report reporter) {
	var all []linuxAddress
	for _, l := range f.links {
		if l.v.GetLinkOnly() {
			continue
		}
		for n, text := range l.v.GetIpAddresses() {
			if p, err := netallocmodel.ParseAddress(text); err == nil && !p.Addr().IsLinkLocalUnicast() && !p.Addr().IsLoopback() {
				all = append(all, linuxAddress{l, p.Addr(), fmt.Sprintf("ip_addresses[%d]", n)})
			}
		}
	}
	id := func(a linuxAddress) hostName { return hostName{a.addr.String(), namespaceOf(a.of)} }
	unique(all, id, func(a, b linuxAddress) {
		if a.of.key != b.of.key {
			report(b.of.key, b.field, a.of.key, "%s is an address of link %s in the same namespace already", b.addr, a.of.v.GetName())
		}
	})
}

func linuxMemberAddresses(f *facts, report reporter) {
	for _, l := range f.links {
		if master := l.v.GetMasterInterface(); master != "" && len(l.v.GetIpAddresses()) > 0 && !l.v.GetLinkOnly() {
			report(l.key, "ip_addresses[0]", "", "the link is a member of %s, which takes its packets", master)
		}
	}
}
