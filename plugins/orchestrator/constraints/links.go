package constraints

import (
	"cmp"
	"fmt"
	"net/netip"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func linkConstraints() []Constraint {
	return []Constraint{
		{"sub-interface-twice", true, "The sub-interfaces of one interface have different VLANs.", subTwice},
		{"sub-interface-parent", true, "The parent of a sub-interface is no sub-interface.", subParent},
		{"sub-interface-mtu", false, "The MTU of a sub-interface is not larger than the MTU of its parent.", subMTU},
		{"sub-interface-state", false, "A sub-interface is enabled only if its parent is.", subState},
		{"tunnel-twice", true, "Tunnels of one type differ in their ends, or in their VNI, TEID, session or VRF.", tunnelTwice},
		{"memif-twice", true, "Memifs at one socket have different IDs.", memifTwice},
		{"memif-role", true, "Memifs at one socket are all master or all slave.", memifRole},
	}
}

// vlan is the identity of a sub-interface.
type vlan struct {
	parent string
	id     uint32
}

func subTwice(f *facts, report reporter) {
	id := func(i *iface) vlan {
		if i.v.GetType() != interfaces.Interface_SUB_INTERFACE {
			return vlan{}
		}
		return vlan{i.v.GetSub().GetParentName(), i.v.GetSub().GetSubId()}
	}
	unique(f.ifs, id, func(a, b *iface) {
		report(b.key, "sub.sub_id", a.key, "sub-interface %[3]s has VLAN %[1]d of %[2]s already", b.v.GetSub().GetSubId(), b.v.GetSub().GetParentName(), a.v.GetName())
	})
}

func subParent(f *facts, report reporter) {
	for _, i := range f.ifs {
		if p := f.parent(i); p != nil && p.v.GetType() == interfaces.Interface_SUB_INTERFACE {
			report(i.key, "sub.parent_name", p.key, "%s is a sub-interface itself: VPP would take its parent %s instead", p.v.GetName(), p.v.GetSub().GetParentName())
		}
	}
}

func subMTU(f *facts, report reporter) {
	for _, i := range f.ifs {
		if p := f.parent(i); differ(p, i) && i.v.GetMtu() > p.v.GetMtu() {
			report(i.key, "mtu", p.key, "%d, but its parent %s has %d", i.v.GetMtu(), p.v.GetName(), p.v.GetMtu())
		}
	}
}

func subState(f *facts, report reporter) {
	for _, i := range f.ifs {
		if p := f.parent(i); p != nil && i.v.GetEnabled() && !p.v.GetEnabled() {
			report(i.key, "enabled", p.key, "the sub-interface stays down as long as its parent %s is not enabled", p.v.GetName())
		}
	}
}

// tunnel is the identity of a tunnel.
type tunnel struct {
	kind     string
	src, dst netip.Addr
	vrf, id  uint32
}

// tunnelOf returns the identity by which VPP distinguishes tunnels.
func tunnelOf(i *iface) (t tunnel) {
	ends := func(kind, src, dst string, vrf, id uint32) tunnel {
		a, errA := netip.ParseAddr(src)
		b, errB := netip.ParseAddr(dst)
		if errB != nil || errA != nil && src != "" {
			return tunnel{}
		}
		return tunnel{kind, a, b, vrf, id}
	}
	switch i.v.GetType() {
	case interfaces.Interface_VXLAN_TUNNEL:
		l, kind := i.v.GetVxlan(), "VXLAN"
		if l.GetGpe() != nil {
			kind = "VXLAN-GPE"
		}
		return ends(kind, l.GetSrcAddress(), l.GetDstAddress(), i.v.GetVrf(), l.GetVni())
	case interfaces.Interface_GRE_TUNNEL:
		l := i.v.GetGre()
		return ends(fmt.Sprint("GRE ", l.GetTunnelType()), l.GetSrcAddr(), l.GetDstAddr(), l.GetOuterFibId(), l.GetSessionId())
	case interfaces.Interface_IPIP_TUNNEL:
		l := i.v.GetIpip()
		if l.GetTunnelMode() != interfaces.IPIPLink_POINT_TO_POINT {
			return tunnel{}
		}
		return ends("IPIP", l.GetSrcAddr(), l.GetDstAddr(), i.v.GetVrf(), 0)
	case interfaces.Interface_GTPU_TUNNEL:
		return ends("GTP-U", "", i.v.GetGtpu().GetDstAddr(), 0, i.v.GetGtpu().GetTeid())
	}
	return t
}

func tunnelTwice(f *facts, report reporter) {
	unique(f.ifs, tunnelOf, func(a, b *iface) {
		report(b.key, linkField(b), a.key, "%s has the same ends and numbers", a.v.GetName())
	})
}

// linkField returns the field with the parameters of an interface's type.
func linkField(i *iface) string {
	m := i.v.ProtoReflect()
	if field := m.WhichOneof(m.Descriptor().Oneofs().ByName("link")); field != nil {
		return string(field.Name())
	}
	return "link"
}

// socketOf returns the socket of a memif; "" if it is none. VPP has a default one.
func socketOf(i *iface) string {
	if i.v.GetType() != interfaces.Interface_MEMIF {
		return ""
	}
	return cmp.Or(i.v.GetMemif().GetSocketFilename(), "(default)")
}

// memifID is the identity of a memif.
type memifID struct {
	socket string
	id     uint32
}

func memifTwice(f *facts, report reporter) {
	id := func(i *iface) memifID {
		if socketOf(i) == "" {
			return memifID{}
		}
		return memifID{socketOf(i), i.v.GetMemif().GetId()}
	}
	unique(f.ifs, id, func(a, b *iface) {
		report(b.key, "memif.id", a.key, "%d is the ID of memif %s at the same socket already", b.v.GetMemif().GetId(), a.v.GetName())
	})
}

func memifRole(f *facts, report reporter) {
	first := map[string]*iface{}
	for _, i := range f.ifs {
		socket := socketOf(i)
		switch {
		case socket == "":
		case first[socket] == nil:
			first[socket] = i
		case first[socket].v.GetMemif().GetMaster() != i.v.GetMemif().GetMaster():
			report(i.key, "memif.master", first[socket].key, "memif %s has the other role at the same socket", first[socket].v.GetName())
		}
	}
}
