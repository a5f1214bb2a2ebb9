package descriptor

import (
	"context"

	interfacesapi "go.fd.io/govpp/binapi/interface"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A loopback in VPP is an Ethernet interface without a wire. It is created by
// create_loopback and named loop0, loop1 and so on; it can be the BVI of a
// bridge domain. Without a MAC address in the configuration it gets one that is
// derived from its name and the agent's identity: VPP would give the same to the first
// loopback of every machine, and a loopback that has no tag yet is recognised by it.
type loopback struct {
	linkTable[interfacesapi.CreateLoopback]
}

var loopbacks = linkSpec[interfacesapi.CreateLoopback]{
	op: declareLinks("interface SOFTWARE_LOOPBACK", "", linkCalls[interfacesapi.CreateLoopback]{
		set: asRequest[*interfacesapi.CreateLoopbackReply, interfacesapi.CreateLoopback],
	}),
	prefixes: []string{"loop"},
	facts:    traits{macInPlace: true},
	resolve:  func(*item.Resolver, *interfaces.Interface) (p interfacesapi.CreateLoopback) { return p },
	mac:      func(p *interfacesapi.CreateLoopback, mac vppcalls.MAC) { p.MacAddress = mac },
	describe: func(i *interfaces.Interface, _ interfacesapi.CreateLoopback, _ about) {
		i.Type = interfaces.Interface_SOFTWARE_LOOPBACK
	},
	delete: deletion[*interfacesapi.DeleteLoopback, *interfacesapi.DeleteLoopbackReply],
}

func (k loopback) create(ctx context.Context, i *interfaces.Interface, want *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	mac := k.address(i, want)
	return k.linkTable.create(ctx, i, &mac)
}

// created implements creationMark.
func (k loopback) created(found vppcalls.Details, _, want *interfaces.Interface) bool {
	mac, err := wantedMAC(want)
	return err == nil && found.MAC == k.address(want, mac)
}

func (k loopback) address(i *interfaces.Interface, want *vppcalls.MAC) vppcalls.MAC {
	if want != nil {
		return *want
	}
	return madeUpMAC(k.on.seed, i.GetName())
}
