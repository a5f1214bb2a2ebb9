package descriptor

import (
	"context"
	"errors"
	"fmt"
	"maps"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// The modes of the receive queues of an interface are one value, derived from
// the interface: it carries the name, the type and the modes. It waits for the
// link, because some drivers make their queues with it.

type rxModeDescriptor struct {
	vpp *vppcalls.Calls
	ifs index
}

// NewRxMode describes the modes of receive queues.
func NewRxMode(vpp *vppcalls.Calls, ifs index) *kvs.KVDescriptor {
	d := &rxModeDescriptor{vpp, ifs}
	return kvs.Adapt(&kvs.Descriptor[*interfaces.Interface, kvs.Metadata]{
		Name:         RxModeName,
		Southbound:   Southbound,
		KeySelector:  model.RxModesKey.Matches,
		Validate:     func(_ string, i *interfaces.Interface) error { return validateRxModes(i) },
		Dependencies: func(_ string, i *interfaces.Interface) []kvs.Dependency { return linkUp(i.GetName()) },
		ValueComparator: func(_ string, a, b *interfaces.Interface) bool {
			return a.GetName() == b.GetName() && rxModesOf(a).equal(rxModesOf(b))
		},
		CreateContext: d.create,
		UpdateContext: func(ctx context.Context, key string, _, i *interfaces.Interface, _ kvs.Metadata) (kvs.Metadata, error) {
			return d.create(ctx, key, i)
		},
		DeleteContext: d.remove,
	})
}

// linkUp is met while the link of the interface is up.
func linkUp(iface string) []kvs.Dependency {
	return []kvs.Dependency{{Label: "interface-link-is-UP", Key: model.LinkStateKeyFor(iface, true)}}
}

func validateRxModes(i *interfaces.Interface) error {
	var errs []error
	seen, isDefault := map[uint32]bool{}, false
	for n, m := range i.GetRxModes() {
		field := fmt.Sprintf("rx_modes[%d]", n)
		switch {
		case m.GetDefaultMode() && isDefault:
			errs = append(errs, invalid(field+".default_mode", "expected at most one default"))
		case !m.GetDefaultMode() && seen[m.GetQueue()]:
			errs = append(errs, invalid(field+".queue", "queue %d is listed twice", m.GetQueue()))
		}
		isDefault = isDefault || m.GetDefaultMode()
		seen[m.GetQueue()] = seen[m.GetQueue()] || !m.GetDefaultMode()
		mode, ok := rxMode(i.GetType(), m.GetMode())
		switch {
		case !ok:
			errs = append(errs, invalid(field+".mode", "%s, expected a mode", m.GetMode()))
		case i.GetType() == interfaces.Interface_DPDK && mode != vppcalls.RxPolling:
			errs = append(errs, invalid(field+".mode", "%s, expected POLLING for type %s", m.GetMode(), i.GetType()))
		}
	}
	return errors.Join(errs...)
}

// rxMode is the mode for VPP; the default depends on the type of interface.
func rxMode(t interfaces.Interface_Type, m interfaces.Interface_RxMode_Type) (mode vppcalls.RxMode, ok bool) {
	switch m {
	case interfaces.Interface_RxMode_POLLING:
		return vppcalls.RxPolling, true
	case interfaces.Interface_RxMode_INTERRUPT:
		return vppcalls.RxInterrupt, true
	case interfaces.Interface_RxMode_ADAPTIVE:
		return vppcalls.RxAdaptive, true
	case interfaces.Interface_RxMode_DEFAULT:
		return defaultRxMode(t), true
	}
	return 0, false
}

func defaultRxMode(t interfaces.Interface_Type) vppcalls.RxMode {
	if t == interfaces.Interface_AF_PACKET || t == interfaces.Interface_TAP {
		return vppcalls.RxInterrupt
	}
	return vppcalls.RxPolling
}

// rxModes are the modes of all queues of an interface.
type rxModes struct {
	others vppcalls.RxMode // of queues that are not listed
	queues map[uint32]vppcalls.RxMode
}

func rxModesOf(i *interfaces.Interface) rxModes {
	r := rxModes{defaultRxMode(i.GetType()), map[uint32]vppcalls.RxMode{}}
	for _, m := range i.GetRxModes() {
		mode, ok := rxMode(i.GetType(), m.GetMode())
		switch {
		case !ok: // invalid: never applied
		case m.GetDefaultMode():
			r.others = mode
		default:
			r.queues[m.GetQueue()] = mode
		}
	}
	return r
}

func (r rxModes) equal(o rxModes) bool { return r.others == o.others && maps.Equal(r.queues, o.queues) }

func (r rxModes) of(queue uint32) vppcalls.RxMode {
	if m, ok := r.queues[queue]; ok {
		return m
	}
	return r.others
}

func (d *rxModeDescriptor) create(ctx context.Context, _ string, i *interfaces.Interface) (kvs.Metadata, error) {
	idx, err := swIfIndex(d.ifs, i.GetName())
	if err != nil {
		return nil, err
	}
	modes := rxModesOf(i)
	if err := d.vpp.SetRxModes(ctx, idx, modes.others); err != nil {
		return nil, err
	}
	for _, m := range i.GetRxModes() { // in the order of the value
		if m.GetDefaultMode() {
			continue
		}
		if err := d.vpp.SetRxMode(ctx, idx, m.GetQueue(), modes.of(m.GetQueue())); err != nil {
			return nil, fmt.Errorf("queue %d: %w", m.GetQueue(), err)
		}
	}
	return nil, nil
}

func (d *rxModeDescriptor) remove(ctx context.Context, _ string, i *interfaces.Interface, _ kvs.Metadata) error {
	idx, err := swIfIndex(d.ifs, i.GetName())
	if err != nil {
		return err
	}
	if err := d.vpp.SetRxModes(ctx, idx, defaultRxMode(i.GetType())); err != nil && !session.Gone(err) {
		return err
	}
	return nil
}
