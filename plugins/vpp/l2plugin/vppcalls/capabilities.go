package vppcalls

import (
	"go.fd.io/govpp/binapi/l2"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// Capabilities are what layer 2 items need of VPP.
func Capabilities() []binding.Capability {
	return []binding.Capability{
		binding.Need("bridge domain", "", (*l2.BridgeDomainAddDelV2)(nil), (*l2.BridgeDomainAddDelV2Reply)(nil)).
			Or((*l2.BridgeDomainAddDel)(nil), (*l2.BridgeDomainAddDelReply)(nil)),
		binding.Need("bridge domain: interfaces", "", (*l2.SwInterfaceSetL2Bridge)(nil), (*l2.SwInterfaceSetL2BridgeReply)(nil)),
		binding.Need("L2 FIB", "", (*l2.L2fibAddDel)(nil), (*l2.L2fibAddDelReply)(nil)),
		binding.Need("L2 cross-connect", "", (*l2.SwInterfaceSetL2Xconnect)(nil), (*l2.SwInterfaceSetL2XconnectReply)(nil)),
	}
}
