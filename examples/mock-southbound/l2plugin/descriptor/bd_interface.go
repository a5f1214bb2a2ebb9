package descriptor

import (
	ifmodel "github.com/tenuto-dev/tenuto/examples/mock-southbound/ifplugin/model"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin/descriptor/adapter"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// BDInterfaceDescriptorName is the name of the descriptor.
const BDInterfaceDescriptorName = "mock-bd-interface"

type memberCalls interface {
	Join(domain, iface string) error
	Leave(domain, iface string) error
}

// NewBDInterfaceDescriptor returns the descriptor of the membership of an
// interface in a bridge domain: it depends on the interface and, being derived
// from it, on the bridge domain.
func NewBDInterfaceDescriptor(sb memberCalls) *api.KVDescriptor {
	domainOf := func(key string) string {
		args, ok := model.BDInterfaceKey.Parse(key)
		if !ok {
			return ""
		}
		return args[0]
	}
	return adapter.NewBDInterfaceDescriptor(&adapter.BDInterfaceDescriptor{
		Name:        BDInterfaceDescriptorName,
		KeySelector: func(key string) bool { return domainOf(key) != "" },
		Dependencies: func(_ string, i *model.BridgeDomain_Interface) []api.Dependency {
			return []api.Dependency{{Label: "interface-exists", Key: ifmodel.ModelInterface.KeyFor(i.Name)}}
		},
		Create: func(key string, i *model.BridgeDomain_Interface) (any, error) {
			return nil, sb.Join(domainOf(key), i.Name)
		},
		Delete: func(key string, i *model.BridgeDomain_Interface, _ any) error {
			return unlessGone(sb.Leave(domainOf(key), i.Name))
		},
	})
}
