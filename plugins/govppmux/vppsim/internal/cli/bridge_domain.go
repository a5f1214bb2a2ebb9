package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/vnet"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l2"
)

// features names the L2 input features by bit, as VPP does, with their graph nodes.
func features() []struct{ name, node string } {
	return []struct{ name, node string }{
		{"DROP", "feature-bitmap-drop"}, {"XCONNECT", "l2-output"}, {"FLOOD", "l2-flood"},
		{"ARP_UFWD", "l2-uu-fwd"}, {"ARP_TERM", "arp-term-l2bd"}, {"UU_FLOOD", "l2-flood"},
		{"UU_FWD", "l2-uu-fwd"}, {"FWD", "l2-fwd"}, {"RW", "l2-rw"}, {"LEARN", "l2-learn"},
		{"VTR", "l2-input-vtr"}, {"L2_IP_QOS_RECORD", "l2-ip-qos-record"}, {"VPATH", "vpath-input-l2"},
		{"ACL", "l2-input-acl"}, {"POLICER_CLAS", "l2-policer-classify"},
		{"INPUT_FEAT_ARC", "l2-input-feat-arc"}, {"INPUT_CLASSIFY", "l2-input-classify"},
		{"SPAN", "span-l2-input"},
	}
}

// newFeatures are those that VPP 26.06 has, by the one that comes before on the
// command line. Bridge domains have them wherever they have that.
func newFeatures() map[string]struct{ name, node string } {
	return map[string]struct{ name, node string }{
		"POLICER_CLAS": {"POLICER", "l2-policer-input"}, "VTR": {"SRV6", "sr-pl-rewrite-encaps-l2"},
	}
}

// Bits of the features that have a column.
const (
	bitFlood   = 1 << 2
	bitARPUFwd = 1 << 3
	bitARPTerm = 1 << 4
	bitUUFlood = 1 << 5
	bitUUFwd   = 1 << 6
	bitForward = 1 << 7
	bitLearn   = 1 << 9
)

func (c *CLI) domainByID(id uint32) *vnet.BridgeDomain {
	for _, d := range c.net.BridgeDomains() {
		if d.ID == id {
			return &d
		}
	}
	return nil
}

func (c *CLI) showBridgeDomain(in *cmdline.Input) error {
	domains := c.net.BridgeDomains()
	var detail, members, arp, tag bool
	if arg := in.Next(); arg != "" {
		id, err := strconv.ParseUint(arg, 10, 32)
		if err == nil && id == 0 {
			//lint:ignore ST1005 the words of VPP
			return errors.New("No operations on the default bridge domain are supported")
		}
		domain := c.domainByID(uint32(id))
		if err == nil && domain == nil {
			//lint:ignore ST1005 the words of VPP
			return fmt.Errorf("No such bridge domain %d", id)
		}
		if err == nil {
			domains = []vnet.BridgeDomain{*domain}
			for arg := in.Next(); arg != ""; arg = in.Next() {
				detail = detail || arg == "detail" || arg == "det"
				members, arp, tag = members || arg == "int", arp || arg == "arp", tag || arg == "bd-tag"
			}
		}
	}
	if len(domains) == 0 {
		in.Line("no bridge-domains in use")
		return nil
	}
	in.Line("%s %s %s %s %s %s %s %s %s %s %s %s %s", cmdline.Center(8, "BD-ID"), cmdline.Center(7, "Index"), cmdline.Center(4, "BSN"),
		cmdline.Center(9, "Age(min)"), cmdline.Center(9, "Learning"), cmdline.Center(9, "U-Forwrd"), cmdline.Center(11, "UU-Flood"),
		cmdline.Center(9, "Flooding"), cmdline.Center(9, "ARP-Term"), cmdline.Center(9, "arp-ufwd"), cmdline.Center(8, "Learn-count"),
		cmdline.Center(8, "Learn-limit"), cmdline.Center(11, "BVI-Intf"))
	for _, d := range domains {
		c.showDomainLine(in, &d)
		if detail {
			c.showFeatures(in, d.Features)
		}
		if detail || members {
			c.showMembers(in, &d)
		}
		if (detail || arp) && d.Features&bitARPTerm != 0 {
			c.showARPTermination(in, d.ID)
		}
		if (detail || tag) && d.Tag != "" {
			in.Line("\n  BD-Tag: %s", d.Tag)
		}
	}
	return nil
}

func (c *CLI) showDomainLine(in *cmdline.Input, d *vnet.BridgeDomain) {
	age := "off"
	if d.MACAge > 0 {
		age = strconv.Itoa(int(d.MACAge))
	}
	unknown := "drop"
	switch {
	case d.Features&bitUUFwd != 0:
		unknown = c.nameOrStale(d.UUFwd)
	case d.Features&bitUUFlood != 0:
		unknown = "flood"
	}
	in.Line("%s %s %s %s %s %s %s %s %s %s %s %s %s", cmdline.Center(8, d.ID), cmdline.Center(7, d.Index), cmdline.Center(4, d.Seq),
		cmdline.Center(9, age), cmdline.Center(9, onOff(d.Features&bitLearn != 0)), cmdline.Center(9, onOff(d.Features&bitForward != 0)),
		cmdline.Center(11, unknown), cmdline.Center(9, onOff(d.Features&bitFlood != 0)), cmdline.Center(9, onOff(d.Features&bitARPTerm != 0)),
		cmdline.Center(9, onOff(d.Features&bitARPUFwd != 0)), cmdline.Center(8, 0), cmdline.Center(8, d.LearnLimit),
		cmdline.Center(11, c.nameOrStale(d.BVI)))
}

func (c *CLI) showFeatures(in *cmdline.Input, bitmap uint32) {
	all := features()
	for bit := len(all) - 1; bit > 0; bit-- {
		if bitmap&(1<<bit) != 0 {
			in.Line("%17s (%s)", all[bit].name, all[bit].node)
			if more, ok := newFeatures()[all[bit].name]; ok && c.version >= "26.06" {
				in.Line("%17s (%s)", more.name, more.node)
			}
		}
	}
}

func (c *CLI) showMembers(in *cmdline.Input, d *vnet.BridgeDomain) {
	for at, m := range d.Members {
		if at == 0 {
			in.Line("\n%s%s%s%s%s%s%s", cmdline.Center(30, "Interface"), cmdline.Center(7, "If-idx"), cmdline.Center(5, "ISN"),
				cmdline.Center(5, "SHG"), cmdline.Center(5, "BVI"), cmdline.Center(9, "TxFlood"), cmdline.Center(30, "VLAN-Tag-Rewrite"))
		}
		in.Line("%s%s%s%s%s%s%s", cmdline.Center(30, c.nameOrStale(m.Index)), cmdline.Center(7, m.Index), cmdline.Center(5, m.Seq),
			cmdline.Center(5, m.SHG), cmdline.Center(5, star(m.BVI)), cmdline.Center(9, star(at < d.Flooded)), cmdline.Center(30, c.rewrite(m.Index)))
	}
	if d.UUFwd != none {
		in.Line("%s%s%s%s%s%s%s", cmdline.Center(30, c.nameOrStale(d.UUFwd)), cmdline.Center(7, d.UUFwd), cmdline.Center(5, 0),
			cmdline.Center(5, 0), cmdline.Center(5, "uu"), cmdline.Center(9, "-"), cmdline.Center(30, "None"))
	}
}

// rewrite describes the VLAN tag rewriting of an interface.
func (c *CLI) rewrite(index uint32) string {
	for _, d := range dump[*interfaces.SwInterfaceDetails](c, &interfaces.SwInterfaceDump{SwIfIndex: interface_types.InterfaceIndex(index)}) {
		if uint32(d.SwIfIndex) != index {
			continue
		}
		kinds := []string{"none", "push-1", "push-2", "pop-1", "pop-2", "trans-1-1", "trans-1-2", "trans-2-1", "trans-2-2"}
		tagType := "dot1ad"
		if d.VtrPushDot1q != 0 {
			tagType = "dot1q"
		}
		switch kind := kinds[d.VtrOp]; kind {
		case "none", "pop-1", "pop-2":
			return kind
		case "push-2", "trans-1-2", "trans-2-2":
			return fmt.Sprintf("%s %s %d %d", kind, tagType, d.VtrTag1, d.VtrTag2)
		default:
			return fmt.Sprintf("%s %s %d", kind, tagType, d.VtrTag1)
		}
	}
	return "none"
}

func (c *CLI) showARPTermination(in *cmdline.Input, id uint32) {
	in.Line("\n  IP4/IP6 to MAC table for ARP Termination")
	for _, e := range dump[*l2.BdIPMacDetails](c, &l2.BdIPMacDump{BdID: id}) {
		in.Line("%s => %s", cmdline.Center(40, e.Entry.IP), cmdline.Center(20, e.Entry.Mac))
	}
}
