package descriptor

import (
	"context"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
)

// NewLinkState describes the state of links. It comes from VPP: it is read by Retrieve
// and then follows notifications. Exactly one of the keys UP and DOWN exists.
// Other values wait for a link by depending on its key.
func NewLinkState(vpp *vppcalls.Calls, ifs index) *kvs.KVDescriptor {
	return item.NewKeys(LinkStateName, isLinkState, func(ctx context.Context) (keys []string, err error) {
		all, err := vpp.DumpInterfaces(ctx)
		for _, found := range all {
			if name, _, ok := ifs.LookupBySwIfIndex(found.SwIfIndex); ok {
				keys = append(keys, model.LinkStateKeyFor(name, found.LinkUp))
			}
		}
		return keys, err
	}, InterfaceName)
}

func isLinkState(key string) bool {
	_, _, ok := model.ParseLinkStateKey(key)
	return ok
}

// LinkStateChange returns the notifications that report the state of a link; gone
// means that the interface no longer exists. What ended comes first.
func LinkStateChange(iface string, up, gone bool) []kvs.KVWithMetadata {
	return []kvs.KVWithMetadata{
		item.KeyChange(model.LinkStateKeyFor(iface, !up), false), item.KeyChange(model.LinkStateKeyFor(iface, up), !gone),
	}
}
