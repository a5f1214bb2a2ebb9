package lldpplugin

import (
	"cmp"
	"context"

	lldpapi "go.fd.io/govpp/binapi/lldp"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	lldp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/lldp"
)

// The names of the descriptors.
const (
	GlobalName    = "vpp-lldp-global"
	InterfaceName = "vpp-lldp-interface"
)

var configure = session.Require("LLDP", "lldp", &lldpapi.LldpConfig{}, &lldpapi.LldpConfigReply{})

// defaults are what a VPP has that was just started.
func defaults() lldpapi.LldpConfig { return lldpapi.LldpConfig{TxHold: 4, TxInterval: 30} }

// maxText is the number of bytes in the longest name or description that a packet can have.
const maxText = 255

// NewGlobal describes the settings of all interfaces.
func NewGlobal(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewSingleton(vpp, item.Singleton[*lldp.Global, lldpapi.LldpConfig]{
		Name: GlobalName, Model: GlobalModel,
		Resolve: func(r *item.Resolver, v *lldp.Global) lldpapi.LldpConfig {
			atMost(r, "system_name", v.GetSystemName())
			return lldpapi.LldpConfig{
				SystemName: v.GetSystemName(),
				TxHold:     cmp.Or(v.GetHold(), defaults().TxHold),
				TxInterval: cmp.Or(v.GetInterval(), defaults().TxInterval),
			}
		},
		Set: func(ctx context.Context, _, c *lldpapi.LldpConfig) error {
			if err := configure.Check(vpp); err != nil {
				return err
			}
			if c == nil {
				unset := defaults()
				c = &unset
			}
			return vpp.Call(ctx, c, &lldpapi.LldpConfigReply{})
		},
	})
}

func atMost(r *item.Resolver, field, text string) {
	if len(text) > maxText {
		r.Fail(field, "%d bytes, expected at most %d", len(text), maxText)
	}
}
