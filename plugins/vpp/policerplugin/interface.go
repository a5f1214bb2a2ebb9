package policerplugin

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/feature"
	"go.fd.io/govpp/binapi/interface_types"
	policerapi "go.fd.io/govpp/binapi/policer"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	policer "github.com/tenuto-dev/tenuto/proto/ligato/vpp/policer"
)

// use is the use of a policer on an interface.
type use struct {
	swIfIndex interface_types.InterfaceIndex
	output    bool
	policer   string
}

// uses sends names: VPP then finds a policer that was created again.
var uses = item.Declare("policer on interface", "", item.Variant[use]{
	Change: func(e use, add bool) (request, reply api.Message) {
		if e.output {
			return &policerapi.PolicerOutput{Name: e.policer, SwIfIndex: e.swIfIndex, Apply: add}, &policerapi.PolicerOutputReply{}
		}
		return &policerapi.PolicerInput{Name: e.policer, SwIfIndex: e.swIfIndex, Apply: add}, &policerapi.PolicerInputReply{}
	},
	Unlisted: true,
	Reset:    takeOut,
})

// takeOut takes the node of policers out of the path of packets once. The request that ends a use
// does that too, but it crashes a VPP in which no interface of that index or above had a policer.
func takeOut(e use) (requests, replies []api.Message) {
	paths, node := []string{"device-input", "ip4-unicast", "ip6-unicast"}, "policer-input" // the first before 26.06, the others since
	if e.output {
		paths, node = []string{"ip4-output", "ip6-output"}, "policer-output"
	}
	for _, path := range paths {
		requests = append(requests, &feature.FeatureEnableDisable{SwIfIndex: e.swIfIndex, ArcName: path, FeatureName: node})
		replies = append(replies, &feature.FeatureEnableDisableReply{})
	}
	return requests, replies
}

// NewInterface describes the uses of policers. VPP has one policer for an interface and direction,
// and puts its node into the path of packets each time that a policer is applied.
func NewInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*policer.Interface, use, use]{
		Name: InterfaceName, Model: InterfaceModel, Operation: uses,
		Resolve: func(r *item.Resolver, v *policer.Interface) use {
			r.Enum("direction", v.GetDirection())
			r.DependsOn("policer-exists", PolicerModel.KeyFor(v.GetPolicer()))
			return use{r.Interface("interface", v.GetInterface()), v.GetDirection() == policer.Interface_OUTPUT, v.GetPolicer()}
		},
		ID: func(e use) use { return use{swIfIndex: e.swIfIndex, output: e.output} },
		Value: func(n *item.Names, e use) *policer.Interface {
			v := &policer.Interface{Interface: n.Interface(e.swIfIndex), Policer: e.policer}
			if e.output {
				v.Direction = policer.Interface_OUTPUT
			}
			return v
		},
		Gone: []api.VPPApiError{api.NO_SUCH_ENTRY, api.INVALID_VALUE}, // the latter: the release has no such node in the path
	})
}
