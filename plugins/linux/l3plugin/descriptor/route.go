package descriptor

import (
	"errors"
	"fmt"
	"net/netip"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// A route goes out of one configured interface or of several, in the table of the VRF that
// the first is in, or through a nexthop object, or keeps packets here. Every route in the kernel has the protocol
// number of its creator: the agent has a number of its own, so it finds its routes again after a restart, and leaves
// the routes of others alone. A static route of another process that is exactly the desired one is taken over.

// RouteName is the name of the descriptor of routes.
const RouteName = "linux-route"

// Labels of the dependencies of a route.
const (
	routeInterfaceUp      = "outgoing-interface-is-up"
	routeInterfaceAddress = "outgoing-interface-has-ip-address"
	routeGateway          = "gw-reachable"
	routeSource           = "source-address-assigned"
	routeNexthop          = "nexthop-exists"
)

// defaultMetric6 is what the kernel makes of metric 0 for IPv6.
const defaultMetric6 = 1024

type route struct{ Deps }

type routeKV = api.KV[*l3.Route, any]

// NewRoute returns the descriptor linux-route.
func NewRoute(deps Deps) *api.KVDescriptor {
	d := route{deps}
	return api.Adapt(api.Describe(l3model.RouteModel, api.Descriptor[*l3.Route, any]{
		Name:            RouteName,
		Southbound:      nsmodel.Southbound,
		ValueComparator: sameRoute,
		Validate:        d.validate,
		Dependencies:    routeDependencies,
		Identities:      routeIdentities,
		DerivedValues:   routeDerived,
		UpdateWithRecreate: func(_ string, a, b *l3.Route, _ any) bool {
			return metric(a) != metric(b)
		},
		CreateBatch:          d.create,
		UpdateBatch:          d.update,
		DeleteBatch:          d.delete,
		RetrieveContext:      d.retrieve,
		RetrieveValueContext: d.retrieveValue,
		RetrieveDependencies: append([]string{ifaceidx.Descriptor, NexthopName}, deps.Allocated.RetrieveDependencies()...),
		ConcurrentRetrieve:   true,
		Concurrency:          2 * api.MaxBatch,
	}))
}

// destination parses the destination.
func destination(v *l3.Route) (netip.Prefix, error) {
	text := v.GetDstNetwork()
	p, err := netallocmodel.ParseNetwork(text)
	if text == "default" {
		return p, fmt.Errorf("%q; expected 0.0.0.0/0 or ::/0, which specify the IP version", text)
	}
	if err != nil {
		return p, fmt.Errorf("%q; expected a network with prefix length, such as 10.0.0.0/24", text)
	}
	return p, nil
}

// validate checks a route. Of one that refers to allocated addresses the literal ones are
// checked alone: the version of IP is not known.
func (d route) validate(key string, v *l3.Route) error {
	if !refers(v.GetDstNetwork(), v.GetGwAddr()) {
		return validateRoute(key, v)
	}
	var errs []error
	iface := v.GetOutgoingInterface()
	if refers(v.GetDstNetwork()) {
		errs = append(errs, d.checkReference("dst_network", v.GetDstNetwork(), iface, false))
	} else if _, err := destination(v); err != nil {
		errs = append(errs, invalid("dst_network", "%w", err))
	}
	if refers(v.GetGwAddr()) {
		errs = append(errs, d.checkReference("gw_addr", v.GetGwAddr(), iface, true))
	} else if err := checkAddress(v.GetGwAddr()); v.GetGwAddr() != "" && err != nil {
		errs = append(errs, invalid("gw_addr", "%w", err))
	}
	if _, known := scopes[v.GetScope()]; !known {
		errs = append(errs, invalid("scope", "%d; expected GLOBAL, SITE, LINK or HOST", v.GetScope()))
	}
	return errors.Join(append(errs, validateExtras(v))...)
}

func validateRoute(_ string, v *l3.Route) error {
	var errs []error
	dst, err := destination(v)
	if err != nil {
		errs = append(errs, invalid("dst_network", "%w", err))
	}
	if _, known := scopes[v.GetScope()]; !known {
		errs = append(errs, invalid("scope", "%d; expected GLOBAL, SITE, LINK or HOST", v.GetScope()))
	} else if err == nil && dst.Addr().Is4() && v.GetType() == l3.Route_UNICAST && v.GetScope() == l3.Route_UNDEFINED {
		errs = append(errs, invalid("scope", "missing; expected GLOBAL, SITE, LINK or HOST for an IPv4 route"))
	}
	return errors.Join(append(errs, validateGateway(v, dst), validateExtras(v))...)
}

// validateExtras checks the fields that the predecessor did not have.
func validateExtras(v *l3.Route) error {
	dst, dstErr := destination(v)
	if dstErr != nil {
		dst = netip.Prefix{}
	}
	errs := []error{checkType(v), checkNexthop(v), checkHops(v, dst)}
	if v.GetTable() == netlinkapi.MainTable {
		errs = append(errs, invalid("table", "%d is the main table; expected 0 for it", v.GetTable()))
	}
	if v.GetOnLink() && !refers(v.GetGwAddr()) && !address(v.GetGwAddr()).IsValid() {
		errs = append(errs, invalid("on_link", "not allowed without gw_addr"))
	}
	if text := v.GetSourceAddr(); text != "" {
		source := address(text)
		switch {
		case !source.IsValid() || source.Zone() != "":
			errs = append(errs, invalid("source_addr", "%q; expected an IP address of this host", text))
		case dst.IsValid() && source.Is4() != dst.Addr().Is4():
			errs = append(errs, invalid("source_addr", "%q is not of the IP version of the destination %s", text, dst))
		}
	}
	return errors.Join(errs...)
}

func validateGateway(v *l3.Route, dst netip.Prefix) error {
	if v.GetGwAddr() == "" {
		return nil
	}
	if err := checkAddress(v.GetGwAddr()); err != nil {
		return invalid("gw_addr", "%w", err)
	}
	gw := address(v.GetGwAddr())
	switch {
	case !gw.IsValid(): // unspecified: the same as none
		return nil
	case v.GetScope() == l3.Route_LINK:
		return invalid("gw_addr", "%q; not allowed with scope LINK", v.GetGwAddr())
	case otherVersion(gw, dst):
		return invalid("gw_addr", "%q; expected an IPv6 address for the destination %s", v.GetGwAddr(), dst)
	}
	return nil
}

// otherVersion reports whether a gateway is of the wrong IP version. An IPv4 route may have an IPv6
// gateway. dst is invalid if it is not known.
func otherVersion(gw netip.Addr, dst netip.Prefix) bool {
	return gw.Is4() && dst.IsValid() && dst.Addr().Is6()
}

func routeDependencies(_ string, v *l3.Route) []api.Dependency {
	deps := routeAllocations(v)
	if !ownHops(v) {
		deps = append(deps, isUp(routeInterfaceUp, v.GetOutgoingInterface()))
	}
	if name := v.GetNexthop(); name != "" {
		deps = append(deps, api.Dependency{Label: routeNexthop, Key: l3model.NexthopModel.KeyFor(name)})
	}
	for i, h := range hops(v) {
		suffix := ""
		if i > 0 {
			suffix = fmt.Sprintf("-next_hops[%d]", i-1)
		}
		deps = append(deps, hopDependencies(h, suffix)...)
	}
	if source := address(v.GetSourceAddr()); source.IsValid() {
		deps = append(deps, api.Dependency{Label: routeSource, AnyOf: api.AnyOfDependency{
			KeyPrefixes: []string{ifmodel.AddressKey.Prefix()},
			KeySelector: func(key string) bool { return assigns(key, source) },
		}})
	}
	return deps
}

// routeIdentities are what the kernel has once, however the destination is written.
func routeIdentities(_ string, v *l3.Route) []string {
	dst, err := destination(v)
	if err != nil {
		return nil
	}
	return []string{fmt.Sprintf("route/%s/%d/%s/%d", v.GetOutgoingInterface(), v.GetTable(), dst, metric(v))}
}

// reaches reports whether the key is of an address or of a link-local route that
// makes the gateway reachable.
func reaches(key string, gw netip.Addr) bool {
	var network string
	if args, ok := l3model.LinkLocalRouteKey.Parse(key); ok {
		network = args[1]
	} else if _, addr, _, ok := ifmodel.ParseAddressKey(key); ok {
		network = addr
	}
	if netallocmodel.IsRef(network) {
		return true // may be: the key does not say
	}
	p, err := netip.ParsePrefix(network)
	return err == nil && p.Contains(gw)
}

// assigns reports whether the key is of the address, or may be.
func assigns(key string, source netip.Addr) bool {
	_, addr, _, ok := ifmodel.ParseAddressKey(key)
	if !ok || netallocmodel.IsRef(addr) {
		return ok // the key of a reference does not say
	}
	p, err := netip.ParsePrefix(addr)
	return err == nil && p.Addr() == source
}

// routeDerived: a route of another table makes no gateway reachable for the routes of the
// interface's table.
func routeDerived(_ string, v *l3.Route) []api.KeyValuePair {
	if v.GetScope() != l3.Route_LINK || v.GetTable() != 0 || !ownHops(v) {
		return nil
	}
	network := v.GetDstNetwork()
	if _, err := netip.ParsePrefix(network); err != nil && !refers(network) {
		if dst, err := destination(v); err == nil {
			network = dst.String()
		}
	}
	key := l3model.LinkLocalRouteKey.Key(v.GetOutgoingInterface(), network)
	return []api.KeyValuePair{{Key: key, Value: &emptypb.Empty{}}}
}

func sameRoute(_ string, a, b *l3.Route) bool {
	if refers(a.GetDstNetwork(), a.GetGwAddr(), b.GetDstNetwork(), b.GetGwAddr()) {
		return proto.Equal(a, b)
	}
	dstA, errA := destination(a)
	dstB, errB := destination(b)
	if errA != nil || errB != nil || dstA != dstB {
		return false
	}
	sameScope := dstA.Addr().Is6() || a.GetType() != l3.Route_UNICAST || a.GetScope() == b.GetScope()
	return sameScope && sameSettings(a, b) && address(a.GetSourceAddr()) == address(b.GetSourceAddr()) && sameHops(a, b)
}

func sameSettings(a, b *l3.Route) bool {
	return metric(a) == metric(b) && a.GetTable() == b.GetTable() && a.GetMtu() == b.GetMtu() && a.GetAdvMss() == b.GetAdvMss()
}

// metric is the metric as the kernel has it.
func metric(v *l3.Route) uint32 {
	if dst, err := destination(v); err == nil && dst.Addr().Is6() && v.GetMetric() == 0 {
		return defaultMetric6
	}
	return v.GetMetric()
}
