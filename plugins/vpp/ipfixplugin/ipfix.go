package ipfixplugin

import (
	"cmp"
	"context"
	"math"

	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipfix_export"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	ipfix "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipfix"
)

// The names of the descriptors.
const (
	IPFIXName            = "vpp-ipfix"
	FlowProbeParamsName  = "vpp-flowprobe-params"
	FlowProbeFeatureName = "vpp-flowprobe-feature"
)

var exporters = session.Require("IPFIX exporter", "", &ipfix_export.SetIpfixExporter{}, &ipfix_export.SetIpfixExporterReply{},
	&ipfix_export.IpfixExporterDump{}, &ipfix_export.IpfixExporterDetails{})

// What VPP has if a field is 0, and the limits of the size of packets, in bytes.
const (
	defaultPort     = 4739
	defaultPathMTU  = 512
	defaultInterval = 20
	minPathMTU      = 68
	maxPathMTU      = 1450
)

type exporter = ipfix_export.SetIpfixExporter

// NewIPFIX describes the exporter of flow records, the first of those that VPP may have and the
// one that it always has. It sends nothing without the address of a collector.
func NewIPFIX(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewSingleton(vpp, item.Singleton[*ipfix.IPFIX, exporter]{
		Name: IPFIXName, Model: IPFIXModel, Resolve: resolveExporter,
		Value: func(e exporter) *ipfix.IPFIX {
			return &ipfix.IPFIX{
				Collector:     &ipfix.IPFIX_Collector{Address: item.Addr(e.CollectorAddress), Port: uint32(e.CollectorPort)},
				SourceAddress: item.Addr(e.SrcAddress), VrfId: e.VrfID, PathMtu: e.PathMtu, TemplateInterval: e.TemplateInterval,
			}
		},
		Set: func(ctx context.Context, _, e *exporter) error {
			if e == nil {
				e = &exporter{VrfID: math.MaxUint32, PathMtu: defaultPathMTU, TemplateInterval: defaultInterval}
			}
			if err := exporters.Check(vpp); err != nil {
				return err
			}
			return vpp.Call(ctx, e, &ipfix_export.SetIpfixExporterReply{})
		},
		Get: func(ctx context.Context) (e *exporter, err error) {
			all, err := session.DumpOf[*ipfix_export.IpfixExporterDetails](ctx, vpp, exporters, &ipfix_export.IpfixExporterDump{})
			for _, d := range all {
				if d.CollectorAddress != (ip_types.Address{}) {
					found := exporter(*d)
					if found.VrfID == math.MaxUint32 { // none was chosen: VPP takes the default table
						found.VrfID = 0
					}
					e = &found
				}
			}
			return e, err
		},
	})
}

func resolveExporter(r *item.Resolver, v *ipfix.IPFIX) exporter {
	e := exporter{
		CollectorAddress: ipv4(r, "collector.address", v.GetCollector().GetAddress()),
		// VPP takes the highest port for the default one.
		CollectorPort:    uint16(cmp.Or(r.Range("collector.port", v.GetCollector().GetPort(), 0, math.MaxUint16-1), defaultPort)),
		SrcAddress:       ipv4(r, "source_address", v.GetSourceAddress()),
		PathMtu:          cmp.Or(v.GetPathMtu(), defaultPathMTU),
		TemplateInterval: cmp.Or(v.GetTemplateInterval(), defaultInterval),
	}
	r.Range("path_mtu", e.PathMtu, minPathMTU, maxPathMTU)
	e.VrfID = r.Table(v.GetVrfId(), ip_types.Address{})
	return e
}

func ipv4(r *item.Resolver, field, text string) ip_types.Address {
	a := r.Host(field, text)
	if a.Af == ip_types.ADDRESS_IP6 {
		r.Fail(field, "%q, expected an IPv4 address: VPP exports to no other", text)
	}
	return a
}
