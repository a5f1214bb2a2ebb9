package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/arp"
	"go.fd.io/govpp/binapi/interface_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// NewProxyARPInterface describes the interfaces that answer ARP requests for the ranges of
// proxy ARP, from which they are derived. An interface stops to answer before it is deleted: VPP
// would have the next interface with the same index answer.
func NewProxyARPInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	type index = interface_types.InterfaceIndex
	return item.NewGroup(vpp, ifs, item.Group[*l3.ProxyARP_Interface, index, index]{
		Name: ProxyARPInterfaceName, Derived: model.ProxyARPInterfaceKey.Matches,
		Resolve: func(r *item.Resolver, i *l3.ProxyARP_Interface) []index {
			return []index{r.Interface("name", i.GetName())}
		},
		ID: func(i index) index { return i },
		Parts: func() (*item.PartCalls[index], error) {
			return &item.PartCalls[index]{Change: func(i index, on bool) (request, reply api.Message) {
				return &arp.ProxyArpIntfcEnableDisable{SwIfIndex: i, Enable: on}, &arp.ProxyArpIntfcEnableDisableReply{}
			}}, proxyARP.Check(vpp)
		},
	})
}
