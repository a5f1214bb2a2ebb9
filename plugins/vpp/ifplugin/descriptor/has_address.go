package descriptor

import (
	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
)

// NewHasAddress describes a property of interfaces: to have at least one
// address, whichever. It is what interfaces that borrow an address wait for.
func NewHasAddress() *kvs.KVDescriptor {
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
		Name:        HasAddressName,
		Southbound:  Southbound,
		KeySelector: model.HasAddressKey.Matches,
		Dependencies: func(key string, _ *emptypb.Empty) []kvs.Dependency {
			args, ok := model.HasAddressKey.Parse(key)
			if !ok {
				return nil
			}
			return []kvs.Dependency{{
				Label: "interface-has-IP",
				AnyOf: kvs.AnyOfDependency{KeyPrefixes: []string{model.AddressKey.Prefix(args[0])}},
			}}
		},
	})
}
