package descriptor

import (
	"context"
	"errors"
	"fmt"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// The placement of a receive queue says which thread serves it. Each is a value
// of its own, derived from the interface; it waits for the link, because some
// drivers make their queues with it. A queue is always served by some thread, so
// removing the value leaves it where it is.

type rxPlacementDescriptor struct {
	vpp *vppcalls.Calls
	ifs index
}

// NewRxPlacement describes the placement of receive queues.
func NewRxPlacement(vpp *vppcalls.Calls, ifs index) *kvs.KVDescriptor {
	d := &rxPlacementDescriptor{vpp, ifs}
	return kvs.Adapt(&kvs.Descriptor[*interfaces.Interface_RxPlacement, kvs.Metadata]{
		Name:        RxPlacementName,
		Southbound:  Southbound,
		KeySelector: model.RxPlacementKey.Matches,
		Dependencies: func(key string, _ *interfaces.Interface_RxPlacement) []kvs.Dependency {
			args, ok := model.RxPlacementKey.Parse(key)
			if !ok {
				return nil
			}
			return linkUp(args[0])
		},
		ValueComparator: func(_ string, a, b *interfaces.Interface_RxPlacement) bool {
			return a.GetQueue() == b.GetQueue() && threadOf(a) == threadOf(b)
		},
		CreateContext: d.create,
		UpdateContext: func(ctx context.Context, key string, _, p *interfaces.Interface_RxPlacement, _ kvs.Metadata) (kvs.Metadata, error) {
			return d.create(ctx, key, p)
		},
		DeleteContext: func(context.Context, string, *interfaces.Interface_RxPlacement, kvs.Metadata) error { return nil },
	})
}

// threadOf is the thread as VPP counts: 0 is the main thread.
func threadOf(p *interfaces.Interface_RxPlacement) uint32 {
	if p.GetMainThread() {
		return 0
	}
	return p.GetWorker() + 1
}

func validateRxPlacements(i *interfaces.Interface) error {
	var errs []error
	seen := map[uint32]bool{}
	for n, p := range i.GetRxPlacements() {
		if seen[p.GetQueue()] {
			errs = append(errs, invalid(fmt.Sprintf("rx_placements[%d].queue", n), "queue %d is listed twice", p.GetQueue()))
		}
		seen[p.GetQueue()] = true
	}
	return errors.Join(errs...)
}

func (d *rxPlacementDescriptor) create(ctx context.Context, key string, p *interfaces.Interface_RxPlacement) (kvs.Metadata, error) {
	args, ok := model.RxPlacementKey.Parse(key)
	if !ok {
		return nil, fmt.Errorf("%q is not the key of a placement", key)
	}
	idx, err := swIfIndex(d.ifs, args[0])
	if err != nil {
		return nil, err
	}
	return nil, d.vpp.SetRxPlacement(ctx, idx, p.GetQueue(), p.GetWorker(), p.GetMainThread())
}
