package natplugin

import (
	"context"
	"slices"
	"sync"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Names of the descriptors.
const (
	GlobalName          = "vpp-nat44-global"
	GlobalInterfaceName = "vpp-nat44-global-interface"
	GlobalAddressName   = "vpp-nat44-global-address"
	InterfaceName       = "vpp-nat44-interface"
	PoolName            = "vpp-nat44-address-pool"
	DNATName            = "vpp-nat44-dnat"
	VrfTableName        = "vpp-nat44-vrf"
	VrfRouteName        = "vpp-nat44-vrf-route"

	endpointDependentName = "vpp-nat44-endpoint-dependent"
	twiceNATPoolName      = "vpp-nat44-twice-nat-pool"
	poolPropertyName      = "vpp-nat44-pool"
)

// plugin of VPP that has both kinds.
const plugin = "nat"

// kind is the kind of NAT44 that is enabled.
type kind int

const (
	disabled kind = iota
	endpointDependent
	endpointIndependent
)

func kindOf(endpointIndependentMode bool) kind {
	if endpointIndependentMode {
		return endpointIndependent
	}
	return endpointDependent
}

// mode is the kind in a session. The descriptor of the global item sets it.
type mode struct {
	mu   sync.Mutex
	kind kind
	// listed are the interfaces and addresses that the global item lists, if it was read: those
	// are of no items of their own.
	listed listed
}

type listed struct {
	interfaces map[natInterface]bool
	addresses  map[addressID]bool
}

var modes = session.NewState(func() *mode { return &mode{} })

func setKind(vpp *session.VPP, k kind) {
	m, err := modes.On(vpp)
	if err != nil {
		return // without a session nothing is enabled
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kind = k
}

func setListed(vpp *session.VPP, l listed) error {
	m, err := modes.On(vpp)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listed = l
	return nil
}

// listedByGlobal returns what the global item lists. It is never changed.
func listedByGlobal(vpp *session.VPP) listed {
	m, err := modes.On(vpp)
	if err != nil {
		return listed{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listed
}

func kindIn(vpp *session.VPP) (kind, error) {
	m, err := modes.On(vpp)
	if err != nil {
		return disabled, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kind, nil
}

// partsOf returns how the kind that is enabled handles the parts of a type of item: nil if no
// kind is enabled, or if it has no such item.
func partsOf[P any](vpp *session.VPP, all map[kind]*session.Operation[func(*session.VPP) item.PartCalls[P]]) func() (*item.PartCalls[P], error) {
	return func() (*item.PartCalls[P], error) {
		k, err := kindIn(vpp)
		if err != nil {
			return nil, err
		}
		return partsOfKind(vpp, k, all)()
	}
}

// partsOfKind is partsOf for a kind.
func partsOfKind[P any](vpp *session.VPP, k kind, all map[kind]*session.Operation[func(*session.VPP) item.PartCalls[P]]) func() (*item.PartCalls[P], error) {
	return func() (*item.PartCalls[P], error) {
		op := all[k]
		if op == nil {
			return nil, nil
		}
		do, err := op.On(vpp)
		if err != nil {
			return nil, err
		}
		calls := do(vpp)
		return &calls, nil
	}
}

// ownParts returns parts without those that the global item lists.
func ownParts[P any](parts func() (*item.PartCalls[P], error), isListed func(P) bool) func() (*item.PartCalls[P], error) {
	return func() (*item.PartCalls[P], error) {
		do, err := parts()
		if do == nil {
			return nil, err
		}
		own := *do
		own.List = func(ctx context.Context) ([]P, error) {
			all, err := do.List(ctx)
			return slices.DeleteFunc(all, isListed), err
		}
		return &own, err
	}
}

// gone are the answers of VPP to the removal of what it does not have, and of what a kind that
// is disabled has forgotten. 1 is the answer of VPP 22.10.
var gone = []api.VPPApiError{api.NO_SUCH_ENTRY, api.UNSUPPORTED, api.FEATURE_ALREADY_DISABLED, 1}

// exists is the answer of VPP to the addition of what it has.
var exists = []api.VPPApiError{api.VALUE_EXIST}

// dependsOnGlobal makes a value wait for NAT44.
func dependsOnGlobal(r *item.Resolver) {
	r.DependsOn("nat44-global-config-exists", model.GlobalModel.KeyPrefix())
}

// dependsOnED makes a value wait for endpoint-dependent NAT44.
func dependsOnED(r *item.Resolver) {
	r.DependsOn("nat44-is-in-endpoint-dependent-mode", model.EndpointDependentKey)
}

// NewProperties describes the properties that others wait for: that NAT44 is in
// endpoint-dependent mode, and which addresses pools have.
func NewProperties() []*kvs.KVDescriptor {
	property := func(name string, selects func(string) bool) *kvs.KVDescriptor {
		return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
			Name: name, Southbound: item.Southbound, KeySelector: selects,
		})
	}
	return []*kvs.KVDescriptor{
		property(endpointDependentName, func(key string) bool { return key == model.EndpointDependentKey }),
		property(twiceNATPoolName, model.TwiceNATPoolKey.Matches),
		property(poolPropertyName, model.PoolKey.Matches),
	}
}
