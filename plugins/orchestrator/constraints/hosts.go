package constraints

import (
	"cmp"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func hostConstraints() []Constraint {
	return []Constraint{
		{"host-interface-twice", true, "Two AF_PACKET interfaces use different interfaces of the host.", hostTwice},
		{"tap-name-twice", true, "TAP interfaces have different names in the host.", tapTwice},
		{"pair-name-twice", true, "Pairs of linux-cp have different names in one namespace of the host.", pairNameTwice},
		{"pair-parent", true, "A pair of a sub-interface names the interface of its parent, which has a pair.", pairParent},
		{"pair-layer2", false, "An interface with a pair of linux-cp is no member of a bridge domain, cross-connect or bond.", pairLayer2},
	}
}

// hostOf returns the interface of the host that an AF_PACKET interface uses, and the field.
func (f *facts) hostOf(i *iface) (name, field string) {
	if i.v.GetType() != interfaces.Interface_AF_PACKET {
		return "", ""
	}
	l := i.v.GetAfpacket()
	if logical := l.GetLinuxInterface(); logical != "" {
		if host := f.linkOf[logical]; host != nil {
			logical = cmp.Or(host.GetHostIfName(), host.GetName())
		}
		return logical, "afpacket.linux_interface"
	}
	return l.GetHostIfName(), "afpacket.host_if_name"
}

func hostTwice(f *facts, report reporter) {
	host := func(i *iface) string { name, _ := f.hostOf(i); return name }
	unique(f.ifs, host, func(a, b *iface) {
		name, field := f.hostOf(b)
		report(b.key, field, a.key, "interface %s uses %s already", a.v.GetName(), name)
	})
}

// hostName is a name in a namespace of the host.
type hostName struct{ name, namespace string }

func tapTwice(f *facts, report reporter) {
	id := func(i *iface) hostName {
		if i.v.GetType() != interfaces.Interface_TAP || i.v.GetTap().GetHostIfName() == "" {
			return hostName{}
		}
		return hostName{i.v.GetTap().GetHostIfName(), i.v.GetTap().GetToMicroservice()}
	}
	unique(f.ifs, id, func(a, b *iface) {
		report(b.key, "tap.host_if_name", a.key, "%s is the name of TAP interface %s already", b.v.GetTap().GetHostIfName(), a.v.GetName())
	})
}

func pairNameTwice(f *facts, report reporter) {
	id := func(p pair) hostName { return hostName{p.v.GetHostInterface(), p.v.GetNamespace()} }
	unique(f.pairs, id, func(a, b pair) {
		if a.v.GetHostInterface() != "" {
			report(b.key, "host_interface", a.key, "%s is the name of the pair of %s already", b.v.GetHostInterface(), a.v.GetInterface())
		}
	})
}

func pairParent(f *facts, report reporter) {
	for _, p := range f.pairs {
		i := f.byName[p.v.GetInterface()]
		if i == nil {
			continue
		}
		parent := f.parent(i)
		switch {
		case parent == nil:
		case parent.pair == "":
			report(p.key, "interface", parent.key, "%s is a sub-interface of %s, which has no pair", i.v.GetName(), parent.v.GetName())
		case p.v.GetParent() != parent.v.GetName():
			report(p.key, "parent", parent.pair, "%q, expected %s, the parent of sub-interface %s", p.v.GetParent(), parent.v.GetName(), i.v.GetName())
		}
	}
}

func pairLayer2(f *facts, report reporter) {
	for _, p := range f.pairs {
		i := f.byName[p.v.GetInterface()]
		switch {
		case i == nil:
		case i.bond != nil:
			report(p.key, "interface", i.bond.key, "%s is a member of bond %s, which takes its packets", i.v.GetName(), i.bond.v.GetName())
		case i.layer2() != nil:
			a := i.layer2()
			report(p.key, "interface", a.key, "%s is %s, where it has no packets for the host", i.v.GetName(), a.text(f))
		}
	}
}
