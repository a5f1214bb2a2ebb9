package descriptor

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// Addresses of routes and neighbours may be references to allocated addresses: the value waits
// for them. The destination of a route is the network of the address.

// refers reports whether one of the texts is a reference.
func refers(texts ...string) bool {
	for _, text := range texts {
		if netallocmodel.IsRef(text) {
			return true
		}
	}
	return false
}

// resolved returns the address that text means; network returns the network of it.
func (d Deps) resolved(field, text, iface string, network bool) (string, error) {
	if !netallocmodel.IsRef(text) {
		return text, nil
	}
	p, ok := d.Allocated.Lookup(text, iface)
	switch {
	case !ok:
		return "", fmt.Errorf("%s: %s is not allocated", field, text)
	case network:
		return p.Masked().String(), nil
	}
	return p.Addr().String(), nil
}

// literalRoute returns the route with the addresses that its references mean.
func (d Deps) literalRoute(v *l3.Route) (*l3.Route, error) {
	if !refers(v.GetDstNetwork(), v.GetGwAddr()) {
		return v, nil
	}
	var err error
	out := proto.CloneOf(v)
	if out.DstNetwork, err = d.resolved("dst_network", v.GetDstNetwork(), v.GetOutgoingInterface(), true); err != nil {
		return nil, err
	}
	if out.GwAddr, err = d.resolved("gw_addr", v.GetGwAddr(), v.GetOutgoingInterface(), false); err != nil {
		return nil, err
	}
	return out, nil
}

// literalARP is literalRoute for neighbours.
func (d Deps) literalARP(v *l3.ARPEntry) (*l3.ARPEntry, error) {
	if !refers(v.GetIpAddress()) {
		return v, nil
	}
	var err error
	out := proto.CloneOf(v)
	out.IpAddress, err = d.resolved("ip_address", v.GetIpAddress(), v.GetInterface(), false)
	return out, err
}

// routeAllocations are the dependencies on the allocations that a route refers to.
func routeAllocations(v *l3.Route) []api.Dependency {
	return append(netallocmodel.Dependencies("dst_network-", v.GetDstNetwork(), v.GetOutgoingInterface()),
		netallocmodel.Dependencies("gw_addr-", v.GetGwAddr(), v.GetOutgoingInterface())...)
}

// checkReference checks a reference; gateway: it may be to a gateway.
func (d Deps) checkReference(field, text, iface string, gateway bool) error {
	if err := d.Allocated.Check(text, iface, gateway); err != nil {
		return invalid(field, "%w", err)
	}
	return nil
}
