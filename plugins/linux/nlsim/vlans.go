package nlsim

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// firstVLANs are the VLANs of a new bridge or port.
func firstVLANs() map[uint16]netlinkapi.PortVLAN {
	return map[uint16]netlinkapi.PortVLAN{1: {ID: 1, PVID: true, Untagged: true}}
}

// PortVLANs implements netlinkapi.BridgeVLANs.
func (h *handle) PortVLANs(ctx context.Context) (all map[int][]netlinkapi.PortVLAN, err error) {
	err = h.read(ctx, "PortVLANs", func() error {
		all = map[int][]netlinkapi.PortVLAN{}
		for _, l := range h.ns.links {
			if len(l.vlans) > 0 {
				all[l.Index] = l.sortedVLANs()
			}
		}
		return nil
	})
	return all, err
}

func (l *link) sortedVLANs() []netlinkapi.PortVLAN {
	return slices.SortedFunc(maps.Values(l.vlans), func(a, b netlinkapi.PortVLAN) int { return cmp.Compare(a.ID, b.ID) })
}

// AddPortVLANs implements netlinkapi.BridgeVLANs.
func (h *handle) AddPortVLANs(ctx context.Context, index int, first netlinkapi.PortVLAN, last uint16) error {
	return h.set(ctx, "AddPortVLANs", index, func(l *link) error {
		switch {
		case l.vlans == nil:
			return netlinkapi.ErrUnsupported
		case first.ID == 0 || last < first.ID || last > netlinkapi.MaxVLAN || first.PVID && last != first.ID:
			return errInvalid
		}
		for id := first.ID; id <= last; id++ {
			l.vlans[id] = netlinkapi.PortVLAN{ID: id, PVID: first.PVID, Untagged: first.Untagged}
		}
		for id, v := range l.vlans {
			if first.PVID && id != first.ID {
				v.PVID = false
				l.vlans[id] = v
			}
		}
		return nil
	})
}

// DeletePortVLANs implements netlinkapi.BridgeVLANs.
func (h *handle) DeletePortVLANs(ctx context.Context, index int, first, last uint16) error {
	return h.set(ctx, "DeletePortVLANs", index, func(l *link) error {
		if l.vlans == nil {
			return netlinkapi.ErrUnsupported
		}
		maps.DeleteFunc(l.vlans, func(id uint16, _ netlinkapi.PortVLAN) bool { return id >= first && id <= last })
		return nil
	})
}
