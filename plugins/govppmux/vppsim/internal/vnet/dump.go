package vnet

import (
	"fmt"
	"strings"
)

// Dump prints the whole state canonically: equal states give equal text.
func (n *VNet) Dump() string {
	var b strings.Builder
	n.dumpInterfaces(&b)
	return b.String()
}

func (n *VNet) dumpInterfaces(b *strings.Builder) {
	for _, i := range n.ifs.all() {
		fmt.Fprintf(b, "interface %d %s %s", i.index, i.name(), i.hw.device)
		if i.tag != "" {
			fmt.Fprintf(b, " tag %q", i.tag)
		}
		if i.adminUp {
			b.WriteString(" admin-up")
		}
		if i.hw.linkUp {
			b.WriteString(" link-up")
		}
		if i.hw.ethernet && !i.isSub {
			fmt.Fprintf(b, " mac %s", i.hw.mac)
		}
		fmt.Fprintf(b, " mtu %d/%d/%d/%d\n", i.mtu[mtuL3], i.mtu[mtuIP4], i.mtu[mtuIP6], i.mtu[mtuMPLS])
		for f := range families {
			if i.table[f] != 0 {
				fmt.Fprintf(b, "  %s table %d\n", f, i.table[f])
			}
			for _, a := range i.own(f) {
				fmt.Fprintf(b, "  address %s\n", a.prefix)
			}
		}
		if i.unnumbered {
			fmt.Fprintf(b, "  unnumbered to %d\n", i.unnumberedTo)
		}
	}
}
