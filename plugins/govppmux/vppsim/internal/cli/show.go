package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"go.fd.io/govpp/binapi/ethernet_types"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/l2"
)

const none = ^uint32(0)

func (c *CLI) showVersion(in *cmdline.Input) error {
	in.Line("vpp v%s built by tenuto on localhost at 2025-10-29T00:00:00", c.version)
	return nil
}

func (c *CLI) showPlugins(in *cmdline.Input) error {
	in.Line(" Plugin path is: (simulated)\n")
	in.Line("\n     Plugin                                   Version                          Description")
	for at, plugin := range []string{"af_packet_plugin.so", "ping_plugin.so"} {
		in.Line("%3d. %-40s %-32s %s", at+1, plugin, c.version, "simulated")
	}
	return nil
}

// details returns the interfaces, sorted by name.
func (c *CLI) details() []*interfaces.SwInterfaceDetails {
	all := dump[*interfaces.SwInterfaceDetails](c, &interfaces.SwInterfaceDump{SwIfIndex: interface_types.InterfaceIndex(none)})
	slices.SortStableFunc(all, func(a, b *interfaces.SwInterfaceDetails) int {
		return cmp.Compare(a.InterfaceName, b.InterfaceName)
	})
	return all
}

func (c *CLI) interfaceByName(name string) *interfaces.SwInterfaceDetails {
	for _, d := range c.details() {
		if d.InterfaceName == name {
			return d
		}
	}
	return nil
}

func (c *CLI) showInterface(in *cmdline.Input) error {
	var chosen []*interfaces.SwInterfaceDetails
	addresses := false
	for len(in.Args) > 0 {
		if in.Args[0] == "address" || in.Args[0] == "addr" {
			addresses = true
		} else if d := c.interfaceByName(in.Args[0]); d != nil {
			chosen = append(chosen, d)
		} else {
			return cmdline.UnknownInput(in.Args)
		}
		in.Next()
	}
	if chosen == nil {
		chosen = c.details()
	}
	if addresses {
		for _, d := range chosen {
			c.showAddresses(in, d)
		}
		return nil
	}
	in.Line("%s%s%s%s%s%s", cmdline.Center(32, "Name"), cmdline.Center(5, "Idx"), cmdline.Center(10, "State"),
		cmdline.Center(21, "MTU (L3/IP4/IP6/MPLS)"), cmdline.Center(16, "Counter"), cmdline.Center(16, "Count"))
	for _, d := range chosen {
		state := "down"
		if d.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0 {
			state = "up"
		}
		mtu := fmt.Sprintf("%d/%d/%d/%d", d.Mtu[0], d.Mtu[1], d.Mtu[2], d.Mtu[3])
		in.Line("%-32s%s%s%s", d.InterfaceName, cmdline.Center(5, d.SwIfIndex), cmdline.Center(10, state), cmdline.Center(21, mtu))
	}
	return nil
}

func (c *CLI) showAddresses(in *cmdline.Input, d *interfaces.SwInterfaceDetails) {
	state := "dn"
	if d.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0 {
		state = "up"
	}
	in.Line("%s (%s):", d.InterfaceName, state)
	holder := d.SwIfIndex
	for _, u := range dump[*ip.IPUnnumberedDetails](c, &ip.IPUnnumberedDump{SwIfIndex: d.SwIfIndex}) {
		holder = u.IPSwIfIndex
		in.Line("  unnumbered, use %s", c.net.InterfaceName(uint32(holder)))
	}
	if domain, member, bridged := c.net.L2Of(uint32(d.SwIfIndex)); bridged {
		bvi := " "
		if member.BVI {
			bvi = "bvi"
		}
		in.Line("  L2 bridge bd-id %d idx %d shg %d %s", domain.ID, domain.Index, member.SHG, bvi)
	}
	for _, x := range dump[*l2.L2XconnectDetails](c, &l2.L2XconnectDump{}) {
		if x.RxSwIfIndex == d.SwIfIndex {
			in.Line("  L2 xconnect %s", c.net.InterfaceName(uint32(x.TxSwIfIndex)))
		}
	}
	for _, isIPv6 := range []bool{false, true} {
		table, _ := call[*interfaces.SwInterfaceGetTableReply](c, &interfaces.SwInterfaceGetTable{SwIfIndex: d.SwIfIndex, IsIPv6: isIPv6})
		for _, a := range dump[*ip.IPAddressDetails](c, &ip.IPAddressDump{SwIfIndex: holder, IsIPv6: isIPv6}) {
			in.Line("  L3 %s%s", a.Prefix, tableNote(isIPv6, table))
		}
	}
}

func tableNote(isIPv6 bool, table *interfaces.SwInterfaceGetTableReply) string {
	if table == nil || table.VrfID == 0 {
		return ""
	}
	version := "ip4"
	if isIPv6 {
		version = "ip6"
	}
	return fmt.Sprintf(" %s table-id %d fib-idx %d", version, table.VrfID, table.VrfID)
}

// nameOrStale is how the L2 FIB names an interface.
func (c *CLI) nameOrStale(index uint32) string {
	if index == none {
		return "N/A"
	}
	if name := c.net.InterfaceName(index); name != "" {
		return name
	}
	return "Stale"
}

func (c *CLI) showL2FIB(in *cmdline.Input) error {
	verbose, only := false, none
	for len(in.Args) > 0 {
		switch arg := in.Next(); arg {
		case "verbose", "all":
			verbose = true
		case "bd_id":
			id, err := strconv.ParseUint(in.Next(), 10, 32)
			if err != nil {
				return errors.New("expected bridge domain ID")
			}
			domain := c.domainByID(uint32(id))
			if domain == nil {
				return fmt.Errorf("bridge domain id %d doesn't exist", id)
			}
			verbose, only = true, domain.Index
		}
	}
	macs := c.net.MACs()
	if len(macs) == 0 {
		in.Line("no l2fib entries")
		return nil
	}
	if verbose {
		in.Line("%s%s%s%s%s%s%s%s%s", cmdline.Center(19, "Mac-Address"), cmdline.Center(7, "BD-Idx"), cmdline.Center(7, "If-Idx"),
			cmdline.Center(8, "BSN-ISN"), cmdline.Center(9, "Age(min)"), cmdline.Center(7, "static"), cmdline.Center(7, "filter"),
			cmdline.Center(5, "bvi"), cmdline.Center(30, "Interface-Name"))
	}
	for _, m := range macs {
		if verbose && (only == none || only == m.Domain) {
			in.Line("%s%s%s %3d/%-3d%s%s%s%s%s", cmdline.Center(19, ethernet_types.MacAddress(m.Address)),
				cmdline.Center(7, m.Domain), cmdline.Center(7, int32(m.Interface)), 0, 0, cmdline.Center(9, "no"),
				cmdline.Center(7, star(m.Static)), cmdline.Center(7, star(m.Filter)), cmdline.Center(5, star(m.BVI)),
				cmdline.Center(30, c.nameOrStale(m.Interface)))
		}
	}
	in.Line("L2FIB total/learned entries: %d/0  Last scan time: 0.0000e0sec  Learn limit: %d ", len(macs), 256*1024*64)
	return nil
}

func star(set bool) string {
	if set {
		return "*"
	}
	return "-"
}

func onOff(set bool) string {
	if set {
		return "on"
	}
	return "off"
}

// joinNonEmpty joins words with blanks.
func joinNonEmpty(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// showClients lists the clients of the API, and of their names what fits the column.
func (c *CLI) showClients(in *cmdline.Input) error {
	names := c.server.ClientNames()
	if len(names) == 0 {
		return nil
	}
	in.Line("Socket clients")
	in.Line("%20s %8s", "Name", "Fildesc")
	for _, index := range slices.Sorted(maps.Keys(names)) {
		in.Line("%20.20s %8d", names[index], firstDescriptor+(index&0xffff))
	}
	return nil
}

// firstDescriptor is about where VPP's file descriptors of clients begin.
const firstDescriptor = 11
