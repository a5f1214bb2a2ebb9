package kernel

import (
	"context"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// errNoVLANFiltering is why a bridge cannot filter.
var errNoVLANFiltering = fmt.Errorf("VLAN filtering of bridges: %w; the kernel is built without it", netlinkapi.ErrUnsupported)

// filters reports whether the parameters belong to a bridge that filters VLANs.
// A kernel without that refuses the attribute, whatever its value.
func filters(p netlinkapi.LinkParams) bool {
	b, ok := p.(netlinkapi.Bridge)
	return ok && b.VLANFiltering
}

// PortVLANs lists VLANs of bridges and ports.
func (h *handle) PortVLANs(ctx context.Context) (map[int][]netlinkapi.PortVLAN, error) {
	found, err := dump(ctx, h.lease, "list VLANs of bridges", func() ([]map[int32][]*nl.BridgeVlanInfo, error) {
		all, err := h.ns.route.BridgeVlanList()
		return []map[int32][]*nl.BridgeVlanInfo{all}, err
	})
	if is(err, unix.EOPNOTSUPP) || len(found) == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	vlans := map[int][]netlinkapi.PortVLAN{}
	for link, all := range found[0] {
		for _, v := range all {
			vlans[int(link)] = append(vlans[int(link)], netlinkapi.PortVLAN{ID: v.Vid, PVID: v.PortVID(), Untagged: v.EngressUntag()})
		}
	}
	return vlans, nil
}

// AddPortVLANs adds or changes VLANs.
func (h *handle) AddPortVLANs(ctx context.Context, link int, first netlinkapi.PortVLAN, last uint16) error {
	return h.call(ctx, func() error {
		l, err := h.ns.linkByIndex(link)
		if err != nil {
			return err
		}
		self := l.Kind == netlinkapi.KindBridge // rather than a port of one
		op := fmt.Sprintf("add VLANs %d-%d to link with index %d", first.ID, last, link)
		return classify(op, h.ns.route.BridgeVlanAddRange(byIndex(link), first.ID, rangeEnd(first.ID, last), first.PVID, first.Untagged, self, !self))
	})
}

// DeletePortVLANs deletes VLANs.
func (h *handle) DeletePortVLANs(ctx context.Context, link int, first, last uint16) error {
	return h.call(ctx, func() error {
		l, err := h.ns.linkByIndex(link)
		if err != nil {
			return err
		}
		self := l.Kind == netlinkapi.KindBridge
		err = h.ns.route.BridgeVlanDelRange(byIndex(link), first, rangeEnd(first, last), false, false, self, !self)
		if is(err, unix.ENOENT) {
			return nil
		}
		return classify(fmt.Sprintf("delete VLANs %d-%d of link with index %d", first, last, link), err)
	})
}

// rangeEnd is 0 for a single VLAN.
func rangeEnd(first, last uint16) uint16 {
	if first == last {
		return 0
	}
	return last
}
