package descriptor

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
)

// The state of the link of an interface comes from VPP: it is read by Retrieve
// and then follows notifications. Exactly one of the keys UP and DOWN exists.
// Other values wait for a link by depending on its key.

type linkStateDescriptor struct {
	vpp *vppcalls.Calls
	ifs index
}

// NewLinkState describes the state of links.
func NewLinkState(vpp *vppcalls.Calls, ifs index) *kvs.KVDescriptor {
	d := &linkStateDescriptor{vpp, ifs}
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
		Name:                 LinkStateName,
		Southbound:           Southbound,
		KeySelector:          isLinkState,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{InterfaceName},
	})
}

func isLinkState(key string) bool {
	_, _, ok := model.ParseLinkStateKey(key)
	return ok
}

func (d *linkStateDescriptor) retrieve(ctx context.Context, _ []kvs.KV[*emptypb.Empty, kvs.Metadata]) ([]kvs.KV[*emptypb.Empty, kvs.Metadata], error) {
	all, err := d.vpp.DumpInterfaces(ctx)
	if err != nil {
		return nil, err
	}
	var out []kvs.KV[*emptypb.Empty, kvs.Metadata]
	for _, found := range all {
		if name, _, ok := d.ifs.LookupBySwIfIndex(found.SwIfIndex); ok {
			out = append(out, kvs.KV[*emptypb.Empty, kvs.Metadata]{
				Key: model.LinkStateKeyFor(name, found.LinkUp), Value: &emptypb.Empty{}, Origin: kvs.FromSB,
			})
		}
	}
	return out, nil
}

// LinkStateChange returns the notifications that tell the state of a link; gone
// means that the interface does not exist any more.
func LinkStateChange(iface string, up, gone bool) []kvs.KVWithMetadata {
	change := func(state bool) kvs.KVWithMetadata {
		kv := kvs.KVWithMetadata{Key: model.LinkStateKeyFor(iface, state), Origin: kvs.FromSB}
		if state == up && !gone {
			kv.Value = &emptypb.Empty{}
		}
		return kv
	}
	// What ended comes first.
	return []kvs.KVWithMetadata{change(!up), change(up)}
}
