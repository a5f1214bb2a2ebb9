package vnet

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/lcp"
	"go.fd.io/govpp/binapi/tapv2"
)

// lcps are the pairs of the Linux control plane: an interface, and a TAP whose host side stands
// for it. The host side of a sub-interface is a VLAN of the TAP of its parent; it is not
// simulated, nor is anything copied between VPP and Linux.
type lcps struct {
	*VNet
	pairs     pool[lcp.LcpItfPairDetails]
	namespace string
	on        map[string]bool // settings by the name in "show lcp"
}

// firstHostTap is where VPP begins to look for the ID of a TAP of a pair.
const firstHostTap = 4096

// lcpSettings are in the order of "show lcp".
func (ls *lcps) lcpSettings() []string {
	all := []string{"lcp-auto-subint", "lcp-sync", "lcp-sync-unnumbered", "del-static-on-link-down", "del-dynamic-on-link-down"}
	if ls.before("26.06") {
		all = append(all[:2], all[3:]...)
	}
	return all
}

func newLcps(n *VNet) feature { return &lcps{VNet: n} }

func (ls *lcps) register(server *wire.Server) {
	wire.Handle(server, func(_ *wire.Call, req *lcp.LcpItfPairAddDelV2) *lcp.LcpItfPairAddDelV2Reply {
		_, host, rv := ls.change(lcp.LcpItfPairAddDelV3(*req))
		return &lcp.LcpItfPairAddDelV2Reply{Retval: int32(rv), HostSwIfIndex: host}
	})
	wire.Handle(server, func(_ *wire.Call, req *lcp.LcpItfPairAddDelV3) *lcp.LcpItfPairAddDelV3Reply {
		vif, host, rv := ls.change(*req)
		return &lcp.LcpItfPairAddDelV3Reply{Retval: int32(rv), HostSwIfIndex: host, VifIndex: vif}
	})
	wire.Handle(server, func(c *wire.Call, _ *lcp.LcpItfPairGet) *lcp.LcpItfPairGetReply {
		for _, p := range ls.pairs.all() {
			c.Send(p)
		}
		return &lcp.LcpItfPairGetReply{Cursor: ls.pairs.end()}
	})
	handle[lcp.LcpDefaultNsSetReply](server, func(req *lcp.LcpDefaultNsSet) retval {
		ls.namespace = req.Netns
		return ok
	})
	wire.Handle(server, func(*wire.Call, *lcp.LcpDefaultNsGet) *lcp.LcpDefaultNsGetReply {
		return &lcp.LcpDefaultNsGetReply{Netns: ls.namespace}
	})
}

func (ls *lcps) reset() {
	ls.pairs, ls.namespace = pool[lcp.LcpItfPairDetails]{}, ""
	ls.on = map[string]bool{"lcp-sync-unnumbered": true} // lcp_interface_init in lcp_interface.c
}

func (ls *lcps) pairOf(phy uint32) (uint32, *lcp.LcpItfPairDetails) {
	return ls.pairs.find(func(p *lcp.LcpItfPairDetails) bool { return uint32(p.PhySwIfIndex) == phy })
}

func (ls *lcps) change(req lcp.LcpItfPairAddDelV3) (vif uint32, host ifIndex, rv retval) {
	i := ls.byIndex(req.SwIfIndex)
	index, p := ls.pairOf(uint32(req.SwIfIndex))
	switch {
	case i == nil:
		return none, noInterface, api.INVALID_SW_IF_INDEX
	case req.IsAdd && p != nil && ls.before("24.02"): // which lets the TAP notice
		return none, noInterface, api.INVALID_INTERFACE
	case req.IsAdd && p != nil:
		return none, noInterface, api.VALUE_EXIST
	case req.IsAdd:
		return ls.add(i, req)
	case p == nil:
		return none, noInterface, api.INVALID_SW_IF_INDEX
	}
	ls.removePair(index, p)
	return none, noInterface, ok
}

func (ls *lcps) add(i *swInterface, req lcp.LcpItfPairAddDelV3) (vif uint32, host ifIndex, rv retval) {
	if !lcpHostName(req.HostIfName) {
		return none, noInterface, api.INVALID_ARGUMENT
	}
	if req.Netns == "" {
		req.Netns = ls.namespace
	}
	if i.isSub {
		_, parent := ls.pairOf(i.hw.swIndex)
		if parent == nil {
			return none, noInterface, api.INVALID_SW_IF_INDEX
		}
		host = parent.HostSwIfIndex
	} else if host, rv = ls.hostTap(req); rv != ok {
		return none, noInterface, rv
	}
	p := &lcp.LcpItfPairDetails{
		PhySwIfIndex: req.SwIfIndex, HostSwIfIndex: host, VifIndex: uint32(req.SwIfIndex) + firstHostTap,
		HostIfName: req.HostIfName, HostIfType: req.HostIfType, Netns: req.Netns,
	}
	ls.pairs.add(p)
	return p.VifIndex, host, ok
}

func lcpHostName(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_%@:.") == ""
}

// hostTap creates the TAP of a pair, which is always up in VPP.
func (ls *lcps) hostTap(req lcp.LcpItfPairAddDelV3) (ifIndex, retval) {
	tap := &tapv2.TapCreateV3{
		ID: firstHostTap, NumRxQueues: 1, NumTxQueues: 1, HostIfNameSet: true, HostIfName: req.HostIfName,
		HostNamespaceSet: req.Netns != "", HostNamespace: req.Netns,
	}
	for ls.taps.ids.inUse(tap.ID) {
		tap.ID++
	}
	if req.HostIfType == lcp.LCP_API_ITF_HOST_TUN {
		tap.TapFlags |= tapv2.TAP_API_FLAG_TUN
	}
	host, rv := ls.taps.createTap(tap)
	if rv == ok {
		ls.setAdmin(ls.byIndex(host), true)
	}
	return host, rv
}

func (ls *lcps) removePair(index uint32, p *lcp.LcpItfPairDetails) {
	ls.pairs.remove(index)
	if phy := ls.byIndex(p.PhySwIfIndex); phy == nil || !phy.isSub {
		ls.taps.deleteTap(&tapv2.TapDeleteV2{SwIfIndex: p.HostSwIfIndex})
	}
}

func (ls *lcps) interfaceRemoved(i *swInterface) {
	if index, p := ls.pairOf(i.index); p != nil {
		ls.removePair(index, p)
	}
}

func (ls *lcps) commands() []cmdline.Command {
	all := []cmdline.Command{
		{Path: "show lcp", Run: ls.show},
		{Path: "lcp lcp-sync", Run: func(in *cmdline.Input) error { return ls.turn("lcp-sync", in) }},
		{Path: "lcp lcp-auto-subint", Run: func(in *cmdline.Input) error { return ls.turn("lcp-auto-subint", in) }},
		{Path: "lcp param del-static-on-link-down", Run: func(in *cmdline.Input) error { return ls.turn("del-static-on-link-down", in) }},
		{Path: "lcp param del-dynamic-on-link-down", Run: func(in *cmdline.Input) error { return ls.turn("del-dynamic-on-link-down", in) }},
	}
	if !ls.before("26.06") {
		all = append(all, cmdline.Command{Path: "lcp lcp-sync-unnumbered", Run: func(in *cmdline.Input) error {
			return ls.turn("lcp-sync-unnumbered", in)
		}})
	}
	return all
}

func (ls *lcps) turn(setting string, in *cmdline.Input) error {
	for _, word := range in.Args {
		switch word {
		case "on", "enable":
			ls.on[setting] = true
		case "off", "disable":
			ls.on[setting] = false
		default:
			return cmdline.UnknownInput(in.Args)
		}
	}
	return nil
}

func (ls *lcps) show(in *cmdline.Input) error {
	namespace := ls.namespace
	if namespace == "" {
		namespace = "<unset>"
	}
	in.Line("lcp default netns '%s'", namespace)
	for _, name := range ls.lcpSettings() {
		in.Line("lcp %s %s", name, map[bool]string{true: "on", false: "off"}[ls.on[name]])
	}
	return nil
}

func (ls *lcps) dump(b *strings.Builder) {
	var lines []string
	for _, p := range ls.pairs.all() {
		lines = append(lines, fmt.Sprintf("lcp %s host %q type %d in %q\n", ls.orStaleIf(uint32(p.PhySwIfIndex)), p.HostIfName, p.HostIfType, p.Netns))
	}
	for _, name := range ls.lcpSettings() {
		if ls.on[name] {
			lines = append(lines, fmt.Sprintf("lcp %s on\n", name))
		}
	}
	if ls.namespace != "" {
		lines = append(lines, fmt.Sprintf("lcp default namespace %q\n", ls.namespace))
	}
	dumpSorted(b, lines)
}
