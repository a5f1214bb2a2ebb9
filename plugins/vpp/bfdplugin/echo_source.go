package bfdplugin

import (
	"context"

	bfdapi "go.fd.io/govpp/binapi/bfd"
	"go.fd.io/govpp/binapi/interface_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/bfdplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	bfd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/bfd"
)

// source is the interface that echo packets have their source address from.
type source = interface_types.InterfaceIndex

var echoSource = session.Require("BFD echo source", "", &bfdapi.BfdUDPSetEchoSource{}, &bfdapi.BfdUDPSetEchoSourceReply{},
	&bfdapi.BfdUDPDelEchoSource{}, &bfdapi.BfdUDPDelEchoSourceReply{}, &bfdapi.BfdUDPGetEchoSource{}, &bfdapi.BfdUDPGetEchoSourceReply{})

// NewEchoSource describes the source of echo packets. VPP has one, and keeps it when the
// interface goes.
func NewEchoSource(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewSet(vpp, ifs, item.Set[*bfd.EchoSource, source, struct{}]{
		Name: EchoSourceName, Model: model.EchoSourceModel, Fields: "interface",
		Resolve: func(r *item.Resolver, v *bfd.EchoSource) []source {
			return []source{r.Interface("interface", v.GetInterface())}
		},
		ID: func(source) struct{} { return struct{}{} },
		Value: func(n *item.Names, _, found []source) *bfd.EchoSource {
			return &bfd.EchoSource{Interface: n.Interface(found[0])}
		},
		Table: item.Table[source]{
			Add: func(ctx context.Context, s source) (kvs.Metadata, error) {
				if err := echoSource.Check(vpp); err != nil {
					return nil, err
				}
				return nil, vpp.Call(ctx, &bfdapi.BfdUDPSetEchoSource{SwIfIndex: s}, &bfdapi.BfdUDPSetEchoSourceReply{})
			},
			Remove: func(ctx context.Context, _ source) error {
				return vpp.Call(ctx, &bfdapi.BfdUDPDelEchoSource{}, &bfdapi.BfdUDPDelEchoSourceReply{})
			},
			All: func(ctx context.Context) ([]source, error) {
				var reply bfdapi.BfdUDPGetEchoSourceReply
				if err := vpp.Call(ctx, &bfdapi.BfdUDPGetEchoSource{}, &reply); err != nil || !reply.IsSet {
					return nil, err
				}
				return []source{reply.SwIfIndex}, nil
			},
		},
	})
}
