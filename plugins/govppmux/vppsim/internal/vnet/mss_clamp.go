package vnet

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/mss_clamp"
)

// mssClamps are the settings of the plugin mss_clamp by the index of an interface
// (src/plugins/mss_clamp/mss_clamp.c). It keeps the settings of deleted interfaces, and enables
// nothing for a direction that it has.
type mssClamps struct {
	*VNet
	all []mss_clamp.MssClampDetails
}

func newMssClamps(n *VNet) feature { return &mssClamps{VNet: n} }

func (m *mssClamps) register(server *wire.Server) {
	handle[mss_clamp.MssClampEnableDisableReply](server, m.set)
	wire.Handle(server, func(c *wire.Call, req *mss_clamp.MssClampGet) *mss_clamp.MssClampGetReply {
		if req.SwIfIndex != noInterface && m.byIndex(req.SwIfIndex) == nil {
			return &mss_clamp.MssClampGetReply{Retval: int32(api.INVALID_SW_IF_INDEX), Cursor: none}
		}
		for index := range m.all {
			if d := m.all[index]; selects(req.SwIfIndex, uint32(index)) && (d.IPv4Direction != 0 || d.IPv6Direction != 0) {
				c.Send(&d)
			}
		}
		cursor := uint32(len(m.all))
		if req.SwIfIndex != noInterface || cursor == 0 {
			cursor = none
		}
		return &mss_clamp.MssClampGetReply{Cursor: cursor}
	})
}

func (m *mssClamps) reset() { m.all = nil }

func (m *mssClamps) set(req *mss_clamp.MssClampEnableDisable) retval {
	if m.byIndex(req.SwIfIndex) == nil {
		return api.INVALID_SW_IF_INDEX
	}
	for len(m.all) <= int(req.SwIfIndex) {
		m.all = append(m.all, mss_clamp.MssClampDetails{})
	}
	has := &m.all[req.SwIfIndex]
	m.enable(req.SwIfIndex, 4, has.IPv4Direction&^req.IPv4Direction, false)
	m.enable(req.SwIfIndex, 6, has.IPv6Direction&^req.IPv6Direction, false)
	m.enable(req.SwIfIndex, 4, req.IPv4Direction&^has.IPv4Direction, true)
	m.enable(req.SwIfIndex, 6, req.IPv6Direction&^has.IPv6Direction, true)
	*has = mss_clamp.MssClampDetails(*req)
	if has.IPv4Direction == 0 {
		has.IPv4Mss = 0
	}
	if has.IPv6Direction == 0 {
		has.IPv6Mss = 0
	}
	return ok
}

func (m *mssClamps) enable(index ifIndex, version int, directions mss_clamp.MssClampDir, on bool) {
	if directions&mss_clamp.MSS_CLAMP_DIR_RX != 0 {
		m.arcs.set(uint32(index), arcFeature{fmt.Sprintf("ip%d-unicast", version), fmt.Sprintf("tcp-mss-clamping-ip%d-in", version)}, on)
	}
	if directions&mss_clamp.MSS_CLAMP_DIR_TX != 0 {
		m.arcs.set(uint32(index), arcFeature{fmt.Sprintf("ip%d-output", version), fmt.Sprintf("tcp-mss-clamping-ip%d-out", version)}, on)
	}
}

func (m *mssClamps) dump(b *strings.Builder) {
	var lines []string
	for index, d := range m.all {
		if d.IPv4Direction != 0 || d.IPv6Direction != 0 {
			lines = append(lines, fmt.Sprintf("mss-clamp ip4 %d %v ip6 %d %v on %s\n", d.IPv4Mss, d.IPv4Direction, d.IPv6Mss, d.IPv6Direction,
				m.orStaleIf(uint32(index))))
		}
	}
	dumpSorted(b, lines)
}
