package vnet

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/ip_types"
)

// Dump prints the whole state canonically: equal states give equal text. Routes that
// VPP adds by itself are left out where they follow from the rest.
func (n *VNet) Dump() string {
	var b strings.Builder
	n.dumpInterfaces(&b)
	n.dumpBridgeDomains(&b)
	n.dumpVRFTables(&b)
	n.dumpARPs(&b)
	for _, f := range n.hooks.dumpers {
		f.dump(&b)
	}
	return b.String()
}

// dumpWord writes a blank and a text if wanted.
func dumpWord(b *strings.Builder, wanted bool, format string, args ...any) {
	if wanted {
		fmt.Fprintf(b, " "+format, args...)
	}
}

func (n *VNet) dumpInterfaces(b *strings.Builder) {
	for _, i := range n.ifs.all() {
		fmt.Fprintf(b, "interface %d %s %s", i.index, i.name(), i.hw.device)
		dumpWord(b, i.tag != "", "tag %q", i.tag)
		dumpWord(b, i.hidden, "hidden")
		dumpWord(b, i.adminUp, "admin-up")
		dumpWord(b, i.hw.linkUp, "link-up")
		dumpWord(b, i.hw.ethernet && !i.isSub, "mac %s", i.hw.mac)
		dumpWord(b, i.isSub, "of %d flags %d vlan %d/%d", i.hw.swIndex, i.sub.flags, i.sub.outer, i.sub.inner)
		fmt.Fprintf(b, " mtu %d/%d/%d/%d\n", i.mtu[mtuL3], i.mtu[mtuIP4], i.mtu[mtuIP6], i.mtu[mtuMPLS])
		n.dumpInterfaceParts(b, i)
	}
}

func (n *VNet) dumpInterfaceParts(b *strings.Builder, i *swInterface) {
	for f := range families {
		if i.table[f] != 0 {
			fmt.Fprintf(b, "  %s table %d\n", f, i.table[f])
		}
		for _, a := range slices.SortedFunc(slices.Values(i.own(f)), func(a, b ifAddress) int {
			return a.prefix.Addr().Compare(b.prefix.Addr())
		}) {
			fmt.Fprintf(b, "  address %s\n", a.prefix)
		}
	}
	if i.unnumbered {
		fmt.Fprintf(b, "  unnumbered to %d\n", i.unnumberedTo)
	}
	if i.l2.on != "" {
		fmt.Fprintf(b, "  layer 2: %s\n", i.l2.on)
	}
	for _, f := range n.hooks.interfaceDumpers {
		f.dumpInterface(b, i)
	}
}

func (n *VNet) dumpBridgeDomains(b *strings.Builder) {
	for _, d := range n.BridgeDomains() {
		fmt.Fprintf(b, "bridge-domain %d features %#x", d.ID, d.Features)
		dumpWord(b, d.Tag != "", "tag %q", d.Tag)
		dumpWord(b, d.MACAge != 0, "mac-age %d", d.MACAge)
		b.WriteByte('\n')
		for _, m := range d.Members {
			fmt.Fprintf(b, "  member %d", m.Index)
			dumpWord(b, m.BVI, "bvi")
			dumpWord(b, m.SHG != 0, "shg %d", m.SHG)
			b.WriteByte('\n')
		}
		if d.UUFwd != none {
			fmt.Fprintf(b, "  unknown unicast to %d\n", d.UUFwd)
		}
		arp := n.l2.domains[d.Index].arp
		for _, addr := range slices.SortedFunc(maps.Keys(arp), netip.Addr.Compare) {
			fmt.Fprintf(b, "  arp %s at %s\n", addr, arp[addr])
		}
	}
}

// orStale prints a number, or that what it belonged to is gone.
func orStale(number uint32, exists bool) string {
	switch {
	case number == none:
		return "(deleted)"
	case !exists:
		return fmt.Sprintf("%d (deleted)", number)
	}
	return fmt.Sprint(number)
}

// orStaleIf names an interface of a feature that does not clean up behind it.
func (n *VNet) orStaleIf(index uint32) string { return orStale(index, n.inUse(index)) }

// dumpSorted writes lines whose order says nothing.
func dumpSorted(b *strings.Builder, lines []string) {
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}

func (n *VNet) dumpVRFTables(b *strings.Builder) {
	for f := range families {
		for t := range n.fibs.All(f) {
			if t.ID != 0 {
				fmt.Fprintf(b, "%s table %d %q", f, t.ID, t.Name)
				dumpWord(b, !t.API, "(deleted)")
				b.WriteByte('\n')
			}
			for prefix, entry := range t.Sorted() {
				for _, s := range entry.ByUser() {
					fmt.Fprintf(b, "%s route %s in %d", f, prefix, t.ID)
					dumpWord(b, s != entry.Best(), "(not used)")
					for _, p := range s.Paths() {
						path := p.Encode()
						fmt.Fprintf(b, " %s", describePath(&path))
					}
					b.WriteByte('\n')
				}
			}
		}
	}
}

func describePath(p *fib_types.FibPath) string {
	var words []string
	if p.Type != fib_types.FIB_API_PATH_TYPE_NORMAL {
		words = append(words, strings.ToLower(strings.TrimPrefix(p.Type.String(), "FIB_API_PATH_TYPE_")))
	}
	if p.Nh.Address != (ip_types.AddressUnion{}) {
		next := p.Nh.Address.GetIP4().String()
		if p.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6 {
			next = p.Nh.Address.GetIP6().String()
		}
		words = append(words, next)
	}
	if p.SwIfIndex != none {
		words = append(words, fmt.Sprintf("if %d", p.SwIfIndex))
	} else if p.Type == fib_types.FIB_API_PATH_TYPE_NORMAL {
		words = append(words, fmt.Sprintf("table %d", p.TableID))
	}
	if p.Weight != 1 {
		words = append(words, fmt.Sprintf("weight %d", p.Weight))
	}
	if p.Preference != 0 {
		words = append(words, fmt.Sprintf("preference %d", p.Preference))
	}
	return "[" + strings.Join(words, " ") + "]"
}

func (n *VNet) dumpARPs(b *strings.Builder) {
	for _, key := range n.sortedARPs() {
		nb := n.arps.get(key)
		fmt.Fprintf(b, "neighbor %s at %s on %s", key.addr, nb.mac, orStale(key.out, n.inUse(key.out)))
		dumpWord(b, nb.static, "static")
		dumpWord(b, nb.noFIB, "no-fib-entry")
		b.WriteByte('\n')
	}
}
