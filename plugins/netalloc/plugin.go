// Package netalloc is the plugin for allocated addresses. An external system allocates an
// address to an interface in a network; other items refer to it, or to the gateway of the
// network, where they have an address ("alloc:NETWORK[/INTERFACE][/GW]"). An item that refers
// to an allocation waits for it, and is created again when the allocation changes.
package netalloc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/infra"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	netallocpb "github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// DescriptorName is the descriptor of allocations. Descriptors that read values with
// references need its metadata (RetrieveDependencies).
const DescriptorName = "netalloc-ip-address"

// Plugin handles allocated addresses.
type Plugin struct {
	Deps

	addresses Addresses
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Scheduler handles the values.
	Scheduler kvs.Registrar
}

// API is what plugins need whose items refer to allocated addresses.
type API interface {
	infra.Plugin
	// Addresses returns the allocated addresses.
	Addresses() Addresses
}

var _ API = (*Plugin)(nil)

// Init registers the descriptor.
func (p *Plugin) Init() error {
	if err := p.Scheduler.RegisterKVDescriptor(newAllocation(), newGateway()); err != nil {
		return fmt.Errorf("register descriptors: %w", err)
	}
	addresses, err := newAddresses(p.Scheduler.GetMetadataMap(DescriptorName))
	if err != nil {
		return fmt.Errorf("index of allocations: %w", err)
	}
	p.addresses = addresses
	return nil
}

// Addresses implements API.
func (p *Plugin) Addresses() Addresses { return p.addresses }

type allocationKV = kvs.KV[*netallocpb.IPAllocation, *Allocation]

// newAllocation describes allocations. They exist in the agent alone. A changed allocation is
// created again, and with it everything that refers to it.
func newAllocation() *kvs.KVDescriptor {
	return kvs.Adapt(kvs.Describe(model.IPAllocationModel, kvs.Descriptor[*netallocpb.IPAllocation, *Allocation]{
		Name:         DescriptorName,
		WithMetadata: true,
		Validate: func(_ string, v *netallocpb.IPAllocation) error {
			_, err := parse(v)
			return err
		},
		ValueComparator: func(_ string, a, b *netallocpb.IPAllocation) bool {
			x, errA := parse(a)
			y, errB := parse(b)
			return errA == nil && errB == nil && *x == *y
		},
		DerivedValues: func(_ string, v *netallocpb.IPAllocation) []kvs.KeyValuePair {
			a, err := parse(v)
			if err != nil || !a.Gateway.IsValid() || a.Gateway == a.Address.Addr() || !a.Address.Contains(a.Gateway) {
				return nil
			}
			return []kvs.KeyValuePair{{Key: model.NeighborGwKey.Key(v.GetNetworkName(), v.GetInterfaceName()), Value: &emptypb.Empty{}}}
		},
		CreateContext: func(_ context.Context, _ string, v *netallocpb.IPAllocation) (*Allocation, error) { return parse(v) },
		DeleteContext: func(context.Context, string, *netallocpb.IPAllocation, *Allocation) error { return nil },
		// After a restart the references must be known when other values are read.
		RetrieveContext: func(_ context.Context, correlate []allocationKV) ([]allocationKV, error) {
			var out []allocationKV
			seen := map[string]bool{}
			for _, kv := range correlate {
				if a, err := parse(kv.Value); err == nil && !seen[kv.Key] {
					seen[kv.Key] = true
					out = append(out, allocationKV{Key: kv.Key, Value: kv.Value, Metadata: a, Origin: kvs.FromNB})
				}
			}
			return out, nil
		},
	}))
}

// newGateway describes the property that the gateway of a network is a neighbor.
func newGateway() *kvs.KVDescriptor {
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
		Name:        "netalloc-neighbor-gateway",
		KeySelector: model.NeighborGwKey.Matches,
	})
}

// parse checks an allocation.
func parse(v *netallocpb.IPAllocation) (*Allocation, error) {
	var errs []error
	if strings.Contains(v.GetNetworkName(), "/") {
		errs = append(errs, invalid("network_name", "%q contains \"/\", which ends the name of a network in references", v.GetNetworkName()))
	}
	address, err := model.ParseAddress(v.GetAddress())
	if err != nil {
		errs = append(errs, invalid("address", "%w", err))
	}
	out := &Allocation{Address: address}
	if v.GetGw() != "" {
		gw, err := model.ParseAddress(v.GetGw())
		switch {
		case err != nil:
			errs = append(errs, invalid("gw", "%w", err))
		case address.IsValid() && gw.Addr().Is4() != address.Addr().Is4():
			errs = append(errs, invalid("gw", "%s, expected the version of IP of %s", gw.Addr(), address.Addr()))
		default:
			out.Gateway = gw.Addr()
		}
	}
	return out, errors.Join(errs...)
}

func invalid(field, format string, args ...any) error {
	return kvs.NewInvalidValueError(fmt.Errorf(format, args...), field)
}
