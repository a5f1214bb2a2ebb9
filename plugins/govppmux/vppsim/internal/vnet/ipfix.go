package vnet

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipfix_export"
)

// ipfixExporter is the first exporter of flow records, which VPP always has
// (src/vnet/ipfix-export/flow_api.c).
type ipfixExporter struct {
	*VNet
	has ipfix_export.IpfixExporterDetails
}

func newIpfixExporter(n *VNet) feature { return &ipfixExporter{VNet: n} }

func (x *ipfixExporter) register(server *wire.Server) {
	handle[ipfix_export.SetIpfixExporterReply](server, x.set)
	wire.HandleDump(server, func(c *wire.Call, _ *ipfix_export.IpfixExporterDump) {
		has := x.has
		c.Send(&has)
	})
}

func (x *ipfixExporter) reset() { x.has = ipfix_export.IpfixExporterDetails{VrfID: none} }

// set takes the collector for an IPv4 address whatever its version is.
func (x *ipfixExporter) set(req *ipfix_export.SetIpfixExporter) retval {
	e := ipfix_export.IpfixExporterDetails(*req)
	e.CollectorAddress.Af = ip_types.ADDRESS_IP4
	replaceUnset(&e.CollectorPort, 0xffff, 4739)
	replaceUnset(&e.PathMtu, none, 512)
	replaceUnset(&e.TemplateInterval, none, 20)
	switch collector, src := addrOf(e.CollectorAddress), addrOf(e.SrcAddress); {
	case e.VrfID != none && x.fibs.Table(ip4, e.VrfID) == nil:
		return api.NO_SUCH_FIB
	case !collector.IsUnspecified() && src.IsUnspecified(), src.Is6():
		return api.INVALID_VALUE
	case e.PathMtu < 68 || e.PathMtu > 1450:
		return api.INVALID_VALUE
	}
	x.has = e
	return ok
}

func replaceUnset[N uint16 | uint32](n *N, unset, value N) {
	if *n == unset {
		*n = value
	}
}

func (x *ipfixExporter) dump(b *strings.Builder) {
	if e := x.has; !addrOf(e.CollectorAddress).IsUnspecified() {
		fmt.Fprintf(b, "ipfix exporter from %s to %s:%d in %d mtu %d every %d s\n", addrOf(e.SrcAddress), addrOf(e.CollectorAddress),
			e.CollectorPort, int32(e.VrfID), e.PathMtu, e.TemplateInterval)
	}
}
