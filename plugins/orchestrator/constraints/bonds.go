package constraints

import (
	"fmt"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func bondConstraints() []Constraint {
	return []Constraint{
		{"bond-id-twice", true, "Bonds have different IDs.", bondIDTwice},
		{"bond-member-twice", true, "An interface is a member of one bond at most.", bondMemberTwice},
		{"bond-member-kind", true, "A bond is no member of a bond, and a sub-interface neither.", bondMemberKind},
		{"bond-member-sub-interfaces", false, "A member of a bond has no sub-interfaces.", bondMemberSubs},
		{"bond-member-addresses", false, "A member of a bond has no addresses.", bondMemberAddresses},
		{"bond-member-layer2", false, "A member of a bond is in no bridge domain and no cross-connect.", bondMemberLayer2},
		{"bond-member-mac", false, "A member of a bond has no MAC address of its own.", bondMemberMAC},
		{"bond-member-mtu", false, "A member of a bond has the MTU of the bond.", bondMemberMTU},
		{"bond-load-balance", false, "A bond has a load balancing only in the modes XOR and LACP.", bondLoadBalance},
	}
}

func bondIDTwice(f *facts, report reporter) {
	id := func(i *iface) string {
		if i.v.GetType() != interfaces.Interface_BOND_INTERFACE {
			return ""
		}
		return fmt.Sprint(i.v.GetBond().GetId())
	}
	unique(f.ifs, id, func(a, b *iface) {
		report(b.key, "bond.id", a.key, "%d is the ID of bond %s already", b.v.GetBond().GetId(), a.v.GetName())
	})
}

// slave is a member of a bond.
type slave struct {
	bond  *iface
	of    *iface // nil: unknown
	name  string
	field string
}

// slaves returns the members of all bonds.
func (f *facts) slaves() (all []slave) {
	for _, i := range f.ifs {
		for n, m := range i.v.GetBond().GetBondedInterfaces() {
			all = append(all, slave{i, f.byName[m.GetName()], m.GetName(), fmt.Sprintf("bond.bonded_interfaces[%d].name", n)})
		}
	}
	return all
}

func bondMemberTwice(f *facts, report reporter) {
	unique(f.slaves(), func(s slave) string { return s.name }, func(a, b slave) {
		report(b.bond.key, b.field, a.bond.key, "interface %s is a member of bond %s already", b.name, a.bond.v.GetName())
	})
}

func bondMemberKind(f *facts, report reporter) {
	for _, s := range f.slaves() {
		if s.of == nil {
			continue
		}
		switch s.of.v.GetType() {
		case interfaces.Interface_BOND_INTERFACE:
			report(s.bond.key, s.field, s.of.key, "%s is a bond itself", s.name)
		case interfaces.Interface_SUB_INTERFACE:
			report(s.bond.key, s.field, s.of.key, "%s is a sub-interface, from which a bond gets no packets", s.name)
		}
	}
}

func bondMemberSubs(f *facts, report reporter) {
	for _, i := range f.ifs {
		if p := f.parent(i); p != nil && p.bond != nil {
			report(i.key, "sub.parent_name", p.bond.key, "%s is a member of bond %s, which takes its packets: the sub-interface gets none", p.v.GetName(), p.bond.v.GetName())
		}
	}
}

func bondMemberAddresses(f *facts, report reporter) {
	for _, i := range f.ifs {
		if field := i.addressing(); i.bond != nil && field != "" {
			report(i.key, field, i.bond.key, "the interface is a member of bond %s, which takes its packets: addresses have no effect", i.bond.v.GetName())
		}
	}
}

func bondMemberLayer2(f *facts, report reporter) {
	for _, i := range f.ifs {
		if i.bond == nil {
			continue
		}
		for _, a := range i.attached {
			report(a.key, a.field, i.bond.key, "interface %s is a member of bond %s, which takes its packets", i.v.GetName(), i.bond.v.GetName())
		}
	}
}

func bondMemberMAC(f *facts, report reporter) {
	for _, i := range f.ifs {
		if i.bond != nil && i.v.GetPhysAddress() != "" {
			report(i.key, "phys_address", i.bond.key, "the interface is a member of bond %s, which gives it its MAC address", i.bond.v.GetName())
		}
	}
}

func bondMemberMTU(f *facts, report reporter) {
	for _, i := range f.ifs {
		if differ(i, i.bond) {
			report(i.key, "mtu", i.bond.key, "%d, but bond %s has %d", i.v.GetMtu(), i.bond.v.GetName(), i.bond.v.GetMtu())
		}
	}
}

func bondLoadBalance(f *facts, report reporter) {
	for _, i := range f.ifs {
		b := i.v.GetBond()
		if b == nil || b.GetMode() == interfaces.BondLink_XOR || b.GetMode() == interfaces.BondLink_LACP {
			continue
		}
		if lb := b.GetLb(); lb == interfaces.BondLink_L34 || lb == interfaces.BondLink_L23 {
			report(i.key, "bond.lb", "", "%s has no effect in mode %s", lb, b.GetMode())
		}
	}
}
