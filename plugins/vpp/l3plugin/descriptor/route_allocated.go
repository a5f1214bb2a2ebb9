package descriptor

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// The destination and the next hop of a route may be references to allocated addresses: the
// route waits for them. The destination is the network of the address. In another VRF table
// than 0 it is of IPv4: the table is chosen before the address is known.

// refers reports whether a route refers to allocated addresses.
func refers(r *l3.Route) bool {
	return netallocmodel.IsRef(r.GetDstNetwork()) || netallocmodel.IsRef(r.GetNextHopAddr())
}

// validateReferences checks a route that refers to allocated addresses, as far as they are not
// needed for that.
func (d *routeDescriptor) validateReferences(r *l3.Route) error {
	iface := r.GetOutgoingInterface()
	var errs []error
	if text := r.GetDstNetwork(); netallocmodel.IsRef(text) {
		if err := d.alloc.Check(text, iface, false); err != nil {
			errs = append(errs, item.Invalid("dst_network", "%w", err))
		}
	} else if _, err := destination(r); err != nil {
		errs = append(errs, item.Invalid("dst_network", "%w", err))
	}
	if text := r.GetNextHopAddr(); netallocmodel.IsRef(text) {
		if err := d.alloc.Check(text, iface, true); err != nil {
			errs = append(errs, item.Invalid("next_hop_addr", "%w", err))
		}
	} else if _, err := ipconv.ParseAddr(text); text != "" && err != nil {
		errs = append(errs, item.Invalid("next_hop_addr", "%w", err))
	}
	return errors.Join(append(errs, validateRouteNumbers(r), validateBFD(r))...)
}

// allocationDependencies are those on the allocations that a route refers to.
func allocationDependencies(r *l3.Route) []kvs.Dependency {
	iface := r.GetOutgoingInterface()
	return append(netallocmodel.Dependencies("dst_network-", r.GetDstNetwork(), iface),
		netallocmodel.Dependencies("gw_addr-", r.GetNextHopAddr(), iface)...)
}

// literal returns the route with the addresses that its references mean; the error names one
// that is not allocated.
func (d *routeDescriptor) literal(r *l3.Route) (*l3.Route, error) {
	if !refers(r) {
		return r, nil
	}
	iface, out := r.GetOutgoingInterface(), proto.CloneOf(r)
	if netallocmodel.IsRef(r.GetDstNetwork()) {
		p, ok := d.alloc.Lookup(r.GetDstNetwork(), iface)
		if !ok {
			return nil, fmt.Errorf("dst_network: %s is not allocated", r.GetDstNetwork())
		}
		out.DstNetwork = p.Masked().String()
	}
	if netallocmodel.IsRef(r.GetNextHopAddr()) {
		p, ok := d.alloc.Lookup(r.GetNextHopAddr(), iface)
		if !ok {
			return nil, fmt.Errorf("next_hop_addr: %s is not allocated", r.GetNextHopAddr())
		}
		out.NextHopAddr = p.Addr().String()
	}
	return out, validateRoute("", out)
}

// idIn returns what tells a route of the configuration apart in VPP.
func (d *routeDescriptor) idIn(r *l3.Route) (routeID, error) {
	literal, err := d.literal(r)
	if err != nil {
		return routeID{}, err
	}
	return idOf(literal)
}
