package constraints

import (
	"fmt"
	"slices"
	"strings"

	l2model "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func layer2Constraints() []Constraint {
	return []Constraint{
		{"bridge-domain-twice", true, "An interface is in one bridge domain at most.", bridgeDomainTwice},
		{"bridge-domain-and-cross-connect", true, "The receiving interface of a cross-connect is in no bridge domain.", bridgeAndCross},
		{"cross-connect-to-bridge-domain", false, "The transmitting interface of a cross-connect is in no bridge domain.", crossToBridge},
		{"cross-connect-to-itself", true, "A cross-connect has two interfaces.", crossToItself},
		{"cross-connect-circle", true, "Loopbacks and their sub-interfaces are not cross-connected in a circle, such as in both directions.", crossCircle},
		{"bridge-domain-circle", true, "A bridge domain has one sub-interface of a loopback at most, and not the loopback together with it.", bridgeCircle},
		{"cross-connect-target-twice", false, "Two cross-connects do not transmit to one interface.", crossTargetTwice},
		{"cross-connect-parent", false, "An interface with sub-interfaces is not cross-connected itself.", crossParent},
		{"cross-connect-mtu", false, "Both interfaces of a cross-connect have the same MTU.", crossMTU},
		{"layer2-with-addresses", false, "A member of a bridge domain that is not its BVI, and an interface of a cross-connect, has no addresses.", layer2Addresses},
		{"bridge-domain-mac", false, "The members of a bridge domain have different MAC addresses.", bridgeMAC},
		{"bridge-domain-mtu", false, "The members of a bridge domain have the same MTU.", bridgeMTU},
		{"bridge-domain-forwards-nothing", false, "A bridge domain with several members forwards or floods.", bridgeIdle},
	}
}

// text describes an attachment: "in bridge domain bd1".
func (a *attachment) text(f *facts) string {
	switch a.kind {
	case receives:
		return "the receiving interface of a cross-connect"
	case transmits:
		return "the transmitting interface of cross-connect " + l2model.XConnectModel.Label(a.key)
	}
	return "in bridge domain " + l2model.BridgeDomainModel.Label(a.key)
}

// pairs calls f with the first attachment of one kind and each later one of another kind,
// or of the same.
func (i *iface) conflicts(first, second attachmentKind, report func(first, second *attachment)) {
	var before *attachment
	for n := range i.attached {
		a := &i.attached[n]
		switch {
		case before == nil && a.kind == first:
			before = a
		case before != nil && a.kind == second && a.key != before.key:
			report(before, a)
		}
	}
}

func bridgeDomainTwice(f *facts, report reporter) {
	for _, i := range f.ifs {
		i.conflicts(inBridge, inBridge, func(a, b *attachment) {
			report(b.key, b.field, a.key, "interface %s is %s already", i.v.GetName(), a.text(f))
		})
	}
}

func bridgeAndCross(f *facts, report reporter) {
	for _, i := range f.ifs {
		i.conflicts(inBridge, receives, func(a, b *attachment) {
			report(b.key, b.field, a.key, "interface %s is %s already", i.v.GetName(), a.text(f))
		})
	}
}

func crossToBridge(f *facts, report reporter) {
	for _, i := range f.ifs {
		i.conflicts(inBridge, transmits, func(a, b *attachment) {
			report(b.key, b.field, a.key, "interface %s is %s: what it receives goes there, and not back", i.v.GetName(), a.text(f))
		})
	}
}

func crossToItself(f *facts, report reporter) {
	for _, x := range f.crosses {
		if x.v.GetReceiveInterface() == x.v.GetTransmitInterface() {
			report(x.key, "transmit_interface", "", "%s is the receiving interface, too", x.v.GetTransmitInterface())
		}
	}
}

// crossCircle finds circles of loopbacks; see l2model.Circles.
func crossCircle(f *facts, report reporter) {
	circles := l2model.NewCircles(f.loopback)
	for _, x := range f.crosses {
		cross := l2model.Cross{Receive: x.v.GetReceiveInterface(), Transmit: x.v.GetTransmitInterface()}
		if circle := circles.Completed(cross); circle != nil {
			other := ""
			if last := circle[len(circle)-2]; last != cross.Receive {
				other = l2model.XConnectModel.KeyFor(last)
			}
			report(x.key, "transmit_interface", other, "%s", l2model.CircleProblem(circle))
		}
		circles.Add(cross)
	}
}

// loopback returns the name of the loopback that an interface is, or is a sub-interface of; empty if it
// is neither.
func (f *facts) loopback(name string) string {
	i := f.byName[name]
	if i != nil && i.v.GetType() == interfaces.Interface_SUB_INTERFACE {
		i = f.byName[i.v.GetSub().GetParentName()]
	}
	if i == nil || i.v.GetType() != interfaces.Interface_SOFTWARE_LOOPBACK {
		return ""
	}
	return i.v.GetName()
}

// bridgeCircle finds bridge domains that flood a frame for ever; see l2model.LoopbackOf.
func bridgeCircle(f *facts, report reporter) {
	of := l2model.LoopbackOf(f.loopback)
	for _, b := range f.bridges {
		var before []string
		for _, m := range f.members(b) {
			name := m.of.v.GetName()
			if at := slices.IndexFunc(before, func(other string) bool { return of.FloodForEver(name, other) }); at >= 0 {
				report(b.key, m.field, m.of.key, "%s", l2model.FloodProblem(before[at]))
			}
			if of(name) != "" {
				before = append(before, name)
			}
		}
	}
}

func crossTargetTwice(f *facts, report reporter) {
	unique(f.crosses, func(x cross) string { return x.v.GetTransmitInterface() }, func(a, b cross) {
		report(b.key, "transmit_interface", a.key, "interface %s transmits for %s, too, and can answer to one of them only", b.v.GetTransmitInterface(), a.v.GetReceiveInterface())
	})
}

func crossParent(f *facts, report reporter) {
	for _, i := range f.ifs {
		for _, a := range i.attached {
			if a.kind == receives && len(i.subs) > 0 {
				report(a.key, a.field, i.subs[0].key, "%s has sub-interfaces, such as %s, whose frames are not cross-connected", i.v.GetName(), i.subs[0].v.GetName())
			}
		}
	}
}

// differ reports whether both interfaces have an MTU, and not the same.
func differ(a, b *iface) bool {
	return a != nil && b != nil && a.v.GetMtu() != 0 && b.v.GetMtu() != 0 && a.v.GetMtu() != b.v.GetMtu()
}

func crossMTU(f *facts, report reporter) {
	for _, x := range f.crosses {
		if rx, tx := f.byName[x.v.GetReceiveInterface()], f.byName[x.v.GetTransmitInterface()]; differ(rx, tx) {
			report(x.key, "transmit_interface", tx.key, "%s has an MTU of %d, and %s of %d", tx.v.GetName(), tx.v.GetMtu(), rx.v.GetName(), rx.v.GetMtu())
		}
	}
}

func layer2Addresses(f *facts, report reporter) {
	for _, i := range f.ifs {
		if a, field := i.layer2(), i.addressing(); a != nil && field != "" {
			report(i.key, field, a.key, "the interface is %s, where addresses have no effect", a.text(f))
		}
	}
}

// member is an interface in a bridge domain.
type member struct {
	of    *iface
	field string
}

// members returns the known members of a bridge domain.
func (f *facts) members(b bridge) (all []member) {
	for n, m := range b.v.GetInterfaces() {
		if i := f.byName[m.GetName()]; i != nil {
			all = append(all, member{i, fmt.Sprintf("interfaces[%d].name", n)})
		}
	}
	return all
}

func bridgeMAC(f *facts, report reporter) {
	for _, b := range f.bridges {
		unique(f.members(b), func(m member) string { return strings.ToLower(m.of.v.GetPhysAddress()) }, func(first, second member) {
			if first.of != second.of {
				report(b.key, second.field, second.of.key, "%s has the MAC address of %s, %s", second.of.v.GetName(), first.of.v.GetName(), second.of.v.GetPhysAddress())
			}
		})
	}
}

func bridgeMTU(f *facts, report reporter) {
	for _, b := range f.bridges {
		var first *iface
		for _, m := range f.members(b) {
			if first == nil && m.of.v.GetMtu() != 0 {
				first = m.of
			}
			if differ(first, m.of) {
				report(b.key, m.field, m.of.key, "%s has an MTU of %d, and %s of %d", m.of.v.GetName(), m.of.v.GetMtu(), first.v.GetName(), first.v.GetMtu())
			}
		}
	}
}

func bridgeIdle(f *facts, report reporter) {
	for _, b := range f.bridges {
		if len(b.v.GetInterfaces()) > 1 && !b.v.GetForward() && !b.v.GetFlood() {
			report(b.key, "interfaces", "", "neither forward nor flood is set: nothing is forwarded between the members")
		}
	}
}
