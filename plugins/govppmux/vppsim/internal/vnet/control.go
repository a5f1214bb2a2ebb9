package vnet

import (
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/vpe"
	"go.fd.io/govpp/binapi/vpe_types"
)

func (n *VNet) handleControl() {
	wire.Handle(n.server, func(*wire.Call, *memclnt.ControlPing) *memclnt.ControlPingReply {
		return &memclnt.ControlPingReply{ClientIndex: none, VpePID: n.cfg.PID()}
	})
	wire.Handle(n.server, func(*wire.Call, *vpe.ShowVersion) *vpe.ShowVersionReply {
		return &vpe.ShowVersionReply{
			Program: "vpe", Version: n.cfg.Version,
			BuildDate: "2025-10-29T00:00:00", BuildDirectory: "/simulated",
		}
	})
	wire.Handle(n.server, func(*wire.Call, *vpe.ShowVpeSystemTime) *vpe.ShowVpeSystemTimeReply {
		seconds := float64(n.cfg.Now().UnixNano()) / 1e9
		return &vpe.ShowVpeSystemTimeReply{VpeSystemTime: vpe_types.Timestamp(seconds)}
	})
}
