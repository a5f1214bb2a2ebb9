// Package constraints finds errors in combinations of items that are valid alone:
// combinations that VPP or Linux will refuse or break, and legal ones that are likely a
// mistake. It looks at desired items only, in time linear in their number, and changes
// nothing.
package constraints

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
	linux "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	linuxcp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/linuxcp"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
	wireguard "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

// Item is a desired item.
type Item struct {
	Key   string
	Value proto.Message // must not be changed
}

// Constraint is a rule for several items, or for fields of one that VPP checks late.
type Constraint struct {
	Name string
	// Error reports that VPP or Linux refuse or break items that violate it. Otherwise it
	// is legal, but likely a mistake.
	Error bool
	Doc   string // the condition that must hold

	check func(f *facts, report reporter)
}

// reporter records a violation: the item and the field, the key of the other item or "",
// and what is wrong.
type reporter func(key, field, other, format string, args ...any)

// maxFindings is the maximum number of findings of one constraint.
const maxFindings = 100

// All returns all constraints, sorted by name.
func All() []Constraint {
	all := slices.Concat(addressConstraints(), layer2Constraints(), bondConstraints(), linkConstraints(), hostConstraints(), linuxConstraints(), serviceConstraints())
	slices.SortFunc(all, func(a, b Constraint) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// Concerns reports whether an item can violate a constraint.
func Concerns(value proto.Message) bool {
	switch value.(type) {
	case *interfaces.Interface, *l2.BridgeDomain, *l2.XConnectPair, *linux.Interface, *linuxcp.Pair, *l3.VrfTable:
		return true
	}
	return isService(value)
}

// isService reports whether an item is looked at alone, without what refers to it.
func isService(value proto.Message) bool {
	switch value.(type) {
	case *acl.ACL, *nat.DNat44, *nat.Nat44AddressPool, *ipsec.SecurityPolicyDatabase, *srv6.Steering, *wireguard.Peer:
		return true
	}
	return false
}

// Check returns the violations, in the order of the items. Of two items that exclude each
// other, it is the one that comes last.
func Check(items []Item) []response.Finding {
	return CheckIf(items, func(response.Finding) bool { return true })
}

// CheckIf is Check for the violations that keep accepts. Their text is empty when keep looks at them. It
// sees all of them, also those that the limit of a constraint only counts.
func CheckIf(items []Item, keep func(response.Finding) bool) []response.Finding {
	f := collect(items)
	if f == nil {
		return nil
	}
	var findings []response.Finding
	for _, c := range All() {
		n, last := 0, ""
		c.check(f, func(key, field, other, format string, args ...any) {
			found := response.Finding{Constraint: c.Name, Refused: c.Error, Key: key, Field: field, Other: other}
			if !keep(found) {
				return
			}
			if n++; n > maxFindings {
				last = key
				return
			}
			found.Text = fmt.Sprintf(format, args...)
			findings = append(findings, found)
		})
		if n > maxFindings {
			findings = append(findings, response.Finding{
				Constraint: c.Name, Refused: c.Error, Key: last, Text: fmt.Sprintf("and %d more of constraint %s", n-maxFindings, c.Name), More: n - maxFindings,
			})
		}
	}
	slices.SortStableFunc(findings, func(a, b response.Finding) int { return f.place[a.Key] - f.place[b.Key] })
	return findings
}

// iface is an interface of VPP with what refers to it.
type iface struct {
	key   string
	v     *interfaces.Interface
	place int // among the items

	subs     []*iface // its sub-interfaces
	bond     *iface   // the bond that it is a member of
	attached []attachment
	pair     string // the key of its pair of linux-cp
}

// attachment is a use of an interface in layer 2.
type attachment struct {
	key, field string // of the bridge domain or the cross-connect
	kind       attachmentKind
	bvi        bool
}

type attachmentKind int

const (
	inBridge attachmentKind = iota
	receives                // of a cross-connect
	transmits
)

// bridge is a bridge domain.
type bridge struct {
	key string
	v   *l2.BridgeDomain
}

// cross is a cross-connect.
type cross struct {
	key string
	v   *l2.XConnectPair
}

// pair is a pair of linux-cp.
type pair struct {
	key string
	v   *linuxcp.Pair
}

// link is an interface of Linux.
type link struct {
	key string
	v   *linux.Interface
}

// facts are the items that constraints look at, in their order, and their references.
type facts struct {
	place   map[string]int // of the items, by key
	ifs     []*iface
	byName  map[string]*iface
	bridges []bridge
	crosses []cross
	pairs   []pair
	links   []link
	// services are in the order of the items.
	services []service
	linkOf   map[string]*linux.Interface // by name
	tables   map[uint32]bool             // VRF tables
}

// collect returns the facts; nil if there are none.
func collect(items []Item) *facts {
	f := &facts{place: map[string]int{}, byName: map[string]*iface{}, linkOf: map[string]*linux.Interface{}, tables: map[uint32]bool{0: true}}
	for i, it := range items {
		switch v := it.Value.(type) {
		case *interfaces.Interface:
			one := &iface{key: it.Key, v: v, place: i}
			f.ifs, f.byName[v.GetName()] = append(f.ifs, one), one
		case *l2.BridgeDomain:
			f.bridges = append(f.bridges, bridge{it.Key, v})
		case *l2.XConnectPair:
			f.crosses = append(f.crosses, cross{it.Key, v})
		case *linuxcp.Pair:
			f.pairs = append(f.pairs, pair{it.Key, v})
		case *linux.Interface:
			f.links, f.linkOf[v.GetName()] = append(f.links, link{it.Key, v}), v
		case *l3.VrfTable:
			f.tables[v.GetId()] = true
		default:
			if !isService(v) {
				continue
			}
			f.services = append(f.services, service{it.Key, v})
		}
		f.place[it.Key] = i
	}
	if len(f.place) == 0 {
		return nil
	}
	f.refer()
	return f
}

// refer adds the references between the items.
func (f *facts) refer() {
	attach := func(name string, a attachment) {
		if i := f.byName[name]; i != nil {
			i.attached = append(i.attached, a)
		}
	}
	for _, i := range f.ifs {
		if parent := f.byName[i.v.GetSub().GetParentName()]; parent != nil && parent != i && i.v.GetType() == interfaces.Interface_SUB_INTERFACE {
			parent.subs = append(parent.subs, i)
		}
		for _, m := range i.v.GetBond().GetBondedInterfaces() {
			if member := f.byName[m.GetName()]; member != nil && member.bond == nil {
				member.bond = i
			}
		}
	}
	for _, b := range f.bridges {
		for n, m := range b.v.GetInterfaces() {
			attach(m.GetName(), attachment{b.key, fmt.Sprintf("interfaces[%d].name", n), inBridge, m.GetBridgedVirtualInterface()})
		}
	}
	for _, x := range f.crosses {
		attach(x.v.GetReceiveInterface(), attachment{x.key, "receive_interface", receives, false})
		attach(x.v.GetTransmitInterface(), attachment{x.key, "transmit_interface", transmits, false})
	}
	for _, p := range f.pairs {
		if i := f.byName[p.v.GetInterface()]; i != nil {
			i.pair = p.key
		}
	}
}

// parent returns the parent of a sub-interface; nil if it is none, or the parent is unknown.
func (f *facts) parent(i *iface) *iface {
	if i.v.GetType() != interfaces.Interface_SUB_INTERFACE {
		return nil
	}
	if p := f.byName[i.v.GetSub().GetParentName()]; p != i {
		return p
	}
	return nil
}

// layer2 returns the use of an interface in layer 2 that takes its packets from layer 3.
func (i *iface) layer2() *attachment {
	for n := range i.attached {
		if !i.attached[n].bvi {
			return &i.attached[n]
		}
	}
	return nil
}

// addressing returns the field by which an interface has addresses, or "".
func (i *iface) addressing() string {
	switch {
	case len(i.v.GetIpAddresses()) > 0:
		return "ip_addresses[0]"
	case i.v.GetSetDhcpClient():
		return "set_dhcp_client"
	case i.v.GetUnnumbered() != nil:
		return "unnumbered"
	}
	return ""
}

// unique reports all things that have the identity of an earlier one. id returns the
// identity, or the zero value for none.
func unique[T any, K comparable](things []T, id func(T) K, report func(first, second T)) {
	var none K
	seen := make(map[K]int, len(things))
	for i, thing := range things {
		k := id(thing)
		if k == none {
			continue
		}
		if first, ok := seen[k]; ok {
			report(things[first], thing)
		} else {
			seen[k] = i
		}
	}
}
