package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/lldp"
)

// lldps is the plugin lldp (src/plugins/lldp). It takes the number of an interface
// for the number of its hardware, and keeps the entries of deleted interfaces.
type lldps struct {
	*VNet
	config lldp.LldpConfig
	on     pool[lldp.SwInterfaceSetLldp] // by hw_if_index
}

func newLldps(n *VNet) feature { return &lldps{VNet: n} }

func (l *lldps) register(server *wire.Server) {
	handle[lldp.LldpConfigReply](server, l.configure)
	handle[lldp.SwInterfaceSetLldpReply](server, l.set)
	wire.Handle(server, func(c *wire.Call, _ *lldp.LldpDump) *lldp.LldpDumpReply {
		for _, has := range l.on.all() {
			if hw := l.hws.at(uint32(has.SwIfIndex)); hw != nil {
				c.Send(&lldp.LldpDetails{SwIfIndex: ifIndex(hw.swIndex)})
			}
		}
		cursor := uint32(none)
		if len(l.on.items) == len(l.on.free) {
			cursor = 0
		}
		return &lldp.LldpDumpReply{Cursor: cursor}
	})
}

func (l *lldps) reset() {
	l.config, l.on = lldp.LldpConfig{TxHold: 4, TxInterval: 30}, pool[lldp.SwInterfaceSetLldp]{}
}

// configure keeps what is not given.
func (l *lldps) configure(req *lldp.LldpConfig) retval {
	if req.SystemName != "" {
		l.config.SystemName = req.SystemName
	}
	if req.TxHold > 100 {
		return api.INVALID_VALUE
	}
	if req.TxHold > 0 {
		l.config.TxHold = req.TxHold
	}
	if req.TxInterval > 3600 {
		return api.INVALID_VALUE
	}
	if req.TxInterval > 0 {
		l.config.TxInterval = req.TxInterval
	}
	return ok
}

func (l *lldps) set(req *lldp.SwInterfaceSetLldp) retval {
	hw := l.hws.at(uint32(req.SwIfIndex))
	switch {
	case l.byIndex(req.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case hw == nil, !hw.ethernet:
		return api.INVALID_VALUE
	case !req.Enable:
		if index, has := l.of(hw.swIndex); has != nil {
			l.on.remove(index)
		}
		return ok
	}
	if _, has := l.of(hw.index); has == nil {
		enabled := *req
		l.on.add(&enabled)
	}
	return ok
}

func (l *lldps) of(index uint32) (uint32, *lldp.SwInterfaceSetLldp) {
	return l.on.find(func(has *lldp.SwInterfaceSetLldp) bool { return uint32(has.SwIfIndex) == index })
}

func (l *lldps) dump(b *strings.Builder) {
	if l.config.TxHold != 4 || l.config.TxInterval != 30 { // a name stays for ever
		fmt.Fprintf(b, "lldp: name %q hold %d interval %d\n", l.config.SystemName, l.config.TxHold, l.config.TxInterval)
	}
	var lines []string
	for _, has := range l.on.all() {
		name := fmt.Sprintf("hardware %d", has.SwIfIndex)
		if hw := l.hws.at(uint32(has.SwIfIndex)); hw != nil {
			name = l.orStaleIf(hw.swIndex)
		}
		lines = append(lines, fmt.Sprintf("lldp: %q ip4 %v ip6 %v on %s\n", has.PortDesc, netip.AddrFrom4(has.MgmtIP4), netip.AddrFrom16(has.MgmtIP6), name))
	}
	dumpSorted(b, lines)
}

// hardware has the command that reports the numbers of devices, in its brief form.
type hardware struct{ *VNet }

func newHardware(n *VNet) feature { return &hardware{VNet: n} }

func (h *hardware) register(*wire.Server) {}
func (h *hardware) reset()                {}

func (h *hardware) commands() []cmdline.Command {
	return []cmdline.Command{{Path: "show hardware-interfaces", Run: func(in *cmdline.Input) error {
		if form := in.Next(); form != "brief" {
			return cmdline.UnknownInput([]string{form})
		}
		wanted := in.Next()
		_, found := h.hws.find(func(hw *hwInterface) bool { return hw.name == wanted })
		if wanted != "" && found == nil {
			return cmdline.UnknownInput([]string{wanted})
		}
		in.Line("%s%6s%7s  %s", cmdline.Center(31, "Name"), "Idx", "Link", "Hardware")
		for index, hw := range h.hws.all() {
			if found != nil && hw != found {
				continue
			}
			link := "down"
			if hw.linkUp {
				link = "up"
			}
			in.Line("%-31s%5d%8s  %s", hw.name, index, link, hw.name)
			in.Line("  Link speed: unknown")
		}
		return nil
	}}}
}
