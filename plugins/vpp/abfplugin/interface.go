package abfplugin

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.fd.io/govpp/binapi/interface_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/abfplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	abf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/abf"
)

// The use of a policy on an interface is derived from the policy and waits for the interface.
// It must go before the interface does: VPP would keep it for the next interface with the same
// index. VPP has a policy on an interface for one version of IP only.

type abfInterfaceDescriptor struct {
	calls
	ifs item.Interfaces
}

type (
	attachedValue  = kvs.BatchValue[*abf.ABF_AttachedInterface, kvs.Metadata]
	attachedResult = kvs.BatchResult[kvs.Metadata]
)

// NewABFInterface describes the use of policies on interfaces.
func NewABFInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &abfInterfaceDescriptor{calls{vpp}, ifs}
	return kvs.Adapt(&kvs.Descriptor[*abf.ABF_AttachedInterface, kvs.Metadata]{
		Name:        ABFInterfaceName,
		Southbound:  item.Southbound,
		KeySelector: func(key string) bool { return model.InterfaceKey.Matches(key) || model.InterfaceIPv6Key.Matches(key) },
		Dependencies: func(_ string, a *abf.ABF_AttachedInterface) []kvs.Dependency {
			return []kvs.Dependency{item.DependsOnInterface("interface-exists", a.GetInputInterface())}
		},
		CreateBatch: d.attach,
		UpdateBatch: d.attach,
		DeleteBatch: d.detach,
		UpdateWithRecreate: func(_ string, old, a *abf.ABF_AttachedInterface, _ kvs.Metadata) bool {
			return old.GetIsIpv6() != a.GetIsIpv6()
		},
		Concurrency: concurrency,
	})
}

func (d *abfInterfaceDescriptor) attach(ctx context.Context, values []attachedValue) []attachedResult {
	results := d.change(ctx, values, d.calls.attach, func(v *attachedValue) *abf.ABF_AttachedInterface { return v.New })
	for i := range results {
		if err := results[i].Err; errors.Is(err, errOtherVersion) {
			results[i].Err = fmt.Errorf("attached_interfaces.is_ipv6: %q has the policy for the other one already: %w; use another policy",
				values[i].New.GetInputInterface(), err)
		}
	}
	return results
}

// detach does nothing on an interface that VPP does not have.
func (d *abfInterfaceDescriptor) detach(ctx context.Context, values []attachedValue) []attachedResult {
	results := d.change(ctx, values, d.calls.detach, func(v *attachedValue) *abf.ABF_AttachedInterface { return v.Old })
	for i := range results {
		if _, known := d.ifs.LookupByName(values[i].Old.GetInputInterface()); !known {
			results[i].Err = nil
		}
	}
	return results
}

func (d *abfInterfaceDescriptor) change(ctx context.Context, values []attachedValue,
	do func(context.Context, []attachment) []error, of func(*attachedValue) *abf.ABF_AttachedInterface) []attachedResult {
	results := make([]attachedResult, len(values))
	var all []attachment
	var sent []int
	for i := range values {
		a, err := d.resolve(values[i].Key, of(&values[i]))
		if results[i].Err = err; err == nil {
			all, sent = append(all, a), append(sent, i)
		}
	}
	if len(all) == 0 {
		return results
	}
	for n, err := range do(ctx, all) {
		results[sent[n]].Err = err
	}
	return results
}

func (d *abfInterfaceDescriptor) resolve(key string, a *abf.ABF_AttachedInterface) (attachment, error) {
	args, ok := model.InterfaceIPv6Key.Parse(key)
	if !ok {
		args, ok = model.InterfaceKey.Parse(key)
	}
	if !ok {
		return attachment{}, fmt.Errorf("%q is not the key of a policy on an interface", key)
	}
	policy, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return attachment{}, fmt.Errorf("policy %q: %w", args[0], err)
	}
	index, err := item.SwIfIndex(d.ifs, a.GetInputInterface())
	return attachment{
		PolicyID: uint32(policy), SwIfIndex: interface_types.InterfaceIndex(index), Priority: a.GetPriority(), IsIPv6: a.GetIsIpv6(),
	}, err
}
