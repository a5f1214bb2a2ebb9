package natplugin

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// The global item enables one kind of NAT44; its limits are decided then. VPP would run both
// kinds at once, on the same packets. A kind that is disabled forgets everything, so all other
// items go before; and it stays enabled, as it is, while other clients of VPP use it. The
// interfaces and addresses that the item lists (the deprecated form) are derived values; of those
// in VPP it has the ones that are expected, for the others may be of items of their own.
//
// It is no item.Singleton: which kind is read, and which interfaces and addresses, depends on the
// value that is expected.

type globalDescriptor struct {
	vpp *session.VPP
	ifs item.Interfaces
}

type globalKV = kvs.KV[*nat.Nat44Global, kvs.Metadata]

// NewGlobal describes the global item.
func NewGlobal(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &globalDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.GlobalModel, kvs.Descriptor[*nat.Nat44Global, kvs.Metadata]{
		Name:          GlobalName,
		Southbound:    item.Southbound,
		KeepsShared:   true,
		Validate:      validateGlobal,
		DerivedValues: derivedOfGlobal,
		ValueComparator: func(_ string, a, b *nat.Nat44Global) bool {
			return settingsOf(a) == settingsOf(b)
		},
		UpdateWithRecreate: func(_ string, a, b *nat.Nat44Global, _ kvs.Metadata) bool {
			x, y := settingsOf(a), settingsOf(b)
			return x.kind != y.kind || x.limits != y.limits
		},
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
	}))
}

func validateGlobal(_ string, g *nat.Nat44Global) error {
	var errs []error
	for field, n := range map[string]uint32{"max_users": g.GetMaxUsers(), "max_user_sessions": g.GetMaxUserSessions()} {
		if n > 0 && !g.GetEndpointIndependent() {
			errs = append(errs, item.Invalid(field, "%d, expected 0 without endpoint_independent", n))
		}
	}
	return errors.Join(append(errs, validateListed(g))...)
}

func (d *globalDescriptor) create(ctx context.Context, _ string, g *nat.Nat44Global) (kvs.Metadata, error) {
	s := settingsOf(g)
	do, err := globals[s.kind].On(d.vpp)
	if err != nil {
		return nil, err
	}
	if err := d.refuseOther(ctx, s.kind); err != nil {
		return nil, err
	}
	had, err := d.enable(ctx, do, s)
	if err != nil {
		return nil, err
	}
	setKind(d.vpp, s.kind)
	if err := d.set(ctx, do, had, s); err != nil {
		return nil, errors.Join(err, d.disable(ctx, do)) // leave nothing half-made
	}
	return nil, nil
}

// refuseOther returns an error if the other kind is enabled.
func (d *globalDescriptor) refuseOther(ctx context.Context, k kind) error {
	other, name := endpointIndependent, "endpoint-independent"
	if k == endpointIndependent {
		other, name = endpointDependent, "endpoint-dependent"
	}
	found, err := d.show(ctx, other)
	if err != nil {
		return err
	}
	if found.kind == other {
		return fmt.Errorf("endpoint_independent: %t, but the %s NAT44 is enabled, by another client of VPP or for what others have in it; disable it in VPP first",
			k == endpointIndependent, name)
	}
	return nil
}

// enable enables a kind, and returns the settings that it then has. One that is enabled already is
// enabled again, for other limits, unless other clients use it.
func (d *globalDescriptor) enable(ctx context.Context, do globalCalls, s settings) (had settings, err error) {
	had, err = do.show(ctx, d.vpp)
	if err != nil {
		return had, err
	}
	if had.kind != disabled {
		others, err := d.usedByOthers(ctx, had.kind)
		switch {
		case err != nil || others != "" && had.limits == s.limits:
			return had, err
		case others != "":
			return had, fmt.Errorf("max_sessions, max_users, max_user_sessions: NAT44 is enabled with %s, and a change would delete what other clients of VPP have in it: %s; configure these limits, or remove that first",
				had.limits, others)
		}
		if err := d.disable(ctx, do); err != nil {
			return had, err
		}
	}
	return settings{kind: s.kind, limits: s.limits, timeouts: timeouts}, d.call(ctx, do.enable, s.limits, true)
}

func (d *globalDescriptor) call(ctx context.Context, message func(limits, bool) (request, reply api.Message), l limits, on bool) error {
	req, reply := message(l, on)
	return d.vpp.Call(ctx, req, reply)
}

// set makes the changes that NAT44 needs not be enabled again for.
func (d *globalDescriptor) set(ctx context.Context, do globalCalls, old, s settings) error {
	if old.forwarding != s.forwarding {
		req, reply := do.setForwarded(s.forwarding)
		if err := d.vpp.Call(ctx, req, reply); err != nil {
			return err
		}
	}
	if old.timeouts != s.timeouts {
		req, reply := do.setTimeouts(s.timeouts)
		return d.vpp.Call(ctx, req, reply)
	}
	return nil
}

func (d *globalDescriptor) update(ctx context.Context, _ string, old, g *nat.Nat44Global, _ kvs.Metadata) (kvs.Metadata, error) {
	s := settingsOf(g)
	do, err := globals[s.kind].On(d.vpp)
	if err != nil {
		return nil, err
	}
	return nil, d.set(ctx, do, settingsOf(old), s)
}

func (d *globalDescriptor) remove(ctx context.Context, _ string, g *nat.Nat44Global, _ kvs.Metadata) error {
	do, err := globals[kindOf(g.GetEndpointIndependent())].On(d.vpp)
	if err != nil {
		return err
	}
	return d.disable(ctx, do)
}

// disable disables a kind that no other client uses. It asks before: the EI of VPP 22.10 crashes if
// it is disabled twice. What VPP answers about items that it could not clean up does not matter once
// NAT44 is disabled.
func (d *globalDescriptor) disable(ctx context.Context, do globalCalls) error {
	found, err := do.show(ctx, d.vpp)
	if err != nil {
		return err
	}
	if found.kind != disabled {
		others, err := d.usedByOthers(ctx, found.kind)
		switch {
		case err != nil:
			return err
		case others != "":
			return leftTo("NAT44", others)
		}
		if err = d.call(ctx, do.enable, limits{}, false); err != nil {
			again, showErr := do.show(ctx, d.vpp)
			if showErr != nil || again.kind != disabled {
				return err
			}
		}
	}
	setKind(d.vpp, disabled)
	return nil
}

// show returns the settings of a kind, none if it is disabled or VPP lacks it.
func (d *globalDescriptor) show(ctx context.Context, k kind) (settings, error) {
	do, err := globals[k].On(d.vpp)
	if errors.Is(err, binding.ErrUnsupported) {
		return settings{}, nil
	}
	if err != nil {
		return settings{}, err
	}
	return do.show(ctx, d.vpp)
}

// usedByOthers names what VPP has in a kind. It is called when the agent has nothing in it.
func (d *globalDescriptor) usedByOthers(ctx context.Context, k kind) (string, error) {
	u := users{ctx: ctx}
	count(&u, "interfaces", partsOfKind(d.vpp, k, interfaceOperations))
	count(&u, "addresses", partsOfKind(d.vpp, k, addressOperations))
	count(&u, "mappings", partsOfKind(d.vpp, k, mappingOperations))
	count(&u, "VRF tables", partsOfKind(d.vpp, k, vrfTableOperations))
	return u.text()
}

// retrieve returns the kind that is expected, if both are enabled.
func (d *globalDescriptor) retrieve(ctx context.Context, correlate []globalKV) ([]globalKV, error) {
	kinds := []kind{endpointDependent, endpointIndependent}
	if len(correlate) > 0 && correlate[0].Value.GetEndpointIndependent() {
		kinds = []kind{endpointIndependent, endpointDependent}
	}
	setKind(d.vpp, disabled)
	for _, k := range kinds {
		found, err := d.show(ctx, k)
		if err != nil {
			return nil, err
		}
		if found.kind == disabled {
			continue
		}
		setKind(d.vpp, k)
		v := found.describe()
		for _, c := range correlate {
			if settingsOf(c.Value) == found {
				v = proto.CloneOf(c.Value) // in its spelling
				break
			}
		}
		if err := d.findListed(ctx, v, correlate); err != nil {
			return nil, err
		}
		kv := globalKV{Key: model.GlobalModel.KeyPrefix(), Value: v, Origin: kvs.UnknownOrigin}
		if len(correlate) > 0 {
			kv.Origin = kvs.FromNB
		}
		return []globalKV{kv}, nil
	}
	return nil, nil
}
