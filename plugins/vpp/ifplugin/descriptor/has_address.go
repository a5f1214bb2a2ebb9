package descriptor

import (
	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
)

// NewHasAddress describes a property of interfaces: to have at least one of the
// addresses of their configuration, whichever. Leased ones are not foreseen.
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
