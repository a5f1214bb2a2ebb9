package descriptor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// The next hops of a route: the one in its own fields, and further ones. The kernel
// may list them in another order than the value.

// hop is a next hop.
type hop struct {
	iface   string
	gateway netip.Addr // invalid: none
	onLink  bool
	weight  uint32 // 0: there are no others
	labels  netlinkapi.Labels
}

// ownHops reports whether packets leave through next hops of the route itself.
func ownHops(v *l3.Route) bool { return v.GetType() == l3.Route_UNICAST && v.GetNexthop() == "" }

// hops returns the next hops of a route with literal addresses; none if packets stay here or
// take a nexthop object.
func hops(v *l3.Route) []hop {
	if !ownHops(v) {
		return nil
	}
	all := []hop{{v.GetOutgoingInterface(), address(v.GetGwAddr()), v.GetOnLink(), 0, netlinkapi.LabelsOf(v.GetMplsLabels())}}
	for _, h := range v.GetNextHops() {
		all[0].weight = max(v.GetWeight(), 1)
		all = append(all, hop{h.GetOutgoingInterface(), address(h.GetGwAddr()), h.GetOnLink(), max(h.GetWeight(), 1), netlinkapi.LabelsOf(h.GetMplsLabels())})
	}
	return all
}

// setHops is the inverse of hops.
func setHops(v *l3.Route, all []hop) {
	for i, h := range all {
		gateway := ""
		if h.gateway.IsValid() {
			gateway = h.gateway.String()
		}
		if i == 0 {
			v.OutgoingInterface, v.GwAddr, v.OnLink, v.Weight, v.MplsLabels = h.iface, gateway, h.onLink, h.weight, h.labels.Numbers()
			continue
		}
		v.NextHops = append(v.NextHops, &l3.Route_NextHop{
			OutgoingInterface: h.iface, GwAddr: gateway, OnLink: h.onLink, Weight: h.weight, MplsLabels: h.labels.Numbers(),
		})
	}
}

// sameHops compares next hops, whatever their order.
func sameHops(a, b *l3.Route) bool {
	sorted := func(v *l3.Route) []hop {
		return slices.SortedFunc(slices.Values(hops(v)), func(x, y hop) int {
			return cmp.Or(strings.Compare(x.iface, y.iface), x.gateway.Compare(y.gateway), cmp.Compare(x.weight, y.weight), cmp.Compare(x.labels, y.labels))
		})
	}
	return a.GetType() == b.GetType() && a.GetNexthop() == b.GetNexthop() &&
		a.GetOutgoingInterface() == b.GetOutgoingInterface() && slices.Equal(sorted(a), sorted(b))
}

// checkType checks the type, and what a type does not allow.
func checkType(v *l3.Route) error {
	if err := enumField("type", v.GetType()); err != nil || v.GetType() == l3.Route_UNICAST {
		return err
	}
	var errs []error
	for field, set := range map[string]bool{
		"gw_addr": v.GetGwAddr() != "", "source_addr": v.GetSourceAddr() != "", "on_link": v.GetOnLink(), "weight": v.GetWeight() != 0,
		"next_hops": len(v.GetNextHops()) > 0, "mtu": v.GetMtu() != 0, "adv_mss": v.GetAdvMss() != 0,
		"mpls_labels": len(v.GetMplsLabels()) > 0, "nexthop": v.GetNexthop() != "",
	} {
		if set {
			errs = append(errs, invalid(field, "not allowed with type %s", v.GetType()))
		}
	}
	return errors.Join(errs...)
}

// checkNexthop checks what a nexthop object does not allow.
func checkNexthop(v *l3.Route) error {
	if v.GetNexthop() == "" {
		return nil
	}
	var errs []error
	for field, set := range map[string]bool{
		"gw_addr": v.GetGwAddr() != "", "on_link": v.GetOnLink(), "weight": v.GetWeight() != 0,
		"next_hops": len(v.GetNextHops()) > 0, "mpls_labels": len(v.GetMplsLabels()) > 0,
	} {
		if set {
			errs = append(errs, invalid(field, "not allowed together with nexthop, which says it"))
		}
	}
	return errors.Join(errs...)
}

// Limits of MPLS labels in the kernel.
const (
	maxLabels    = 30
	implicitNull = 3
)

func checkLabels(field string, labels []uint32) error {
	if len(labels) > maxLabels {
		return invalid(field, "%d labels; expected at most %d", len(labels), maxLabels)
	}
	for i, label := range labels {
		if label == implicitNull {
			return invalid(fmt.Sprintf("%s[%d]", field, i), "%d is the implicit null label, which no packet has; expected none instead", label)
		}
	}
	return nil
}

// checkHops checks the fields about next hops; dst is invalid if it is not known.
func checkHops(v *l3.Route, dst netip.Prefix) error {
	errs := []error{checkLabels("mpls_labels", v.GetMplsLabels())}
	if len(v.GetNextHops()) == 0 {
		if v.GetWeight() != 0 {
			errs = append(errs, invalid("weight", "not allowed without next_hops"))
		}
		return errors.Join(errs...)
	}
	if dst.IsValid() && dst.Addr().Is6() && !refers(v.GetGwAddr()) && !address(v.GetGwAddr()).IsValid() {
		errs = append(errs, invalid("gw_addr", "empty; expected a gateway, because IPv6 routes with several next hops have them"))
	}
	seen := map[hop]bool{}
	for i, h := range hops(v) {
		h.weight, h.onLink, h.labels = 0, false, ""
		if i > 0 {
			field := fmt.Sprintf("next_hops[%d]", i-1)
			errs = append(errs, checkHop(field, v.GetNextHops()[i-1], dst, seen[h]), checkLabels(field+".mpls_labels", v.GetNextHops()[i-1].GetMplsLabels()))
		}
		seen[h] = true
	}
	return errors.Join(errs...)
}

func checkHop(field string, h *l3.Route_NextHop, dst netip.Prefix, again bool) error {
	gateway := h.GetGwAddr()
	switch {
	case again:
		return invalid(field, "the same next hop again; expected each once, with a weight")
	case gateway == "" && h.GetOnLink():
		return invalid(field+".on_link", "not allowed without gw_addr")
	case gateway == "" && dst.IsValid() && dst.Addr().Is6():
		return invalid(field+".gw_addr", "empty; expected a gateway, because IPv6 routes with several next hops have them")
	case gateway == "":
		return nil
	}
	gw := address(gateway)
	switch {
	case !gw.IsValid() || gw.Zone() != "":
		return invalid(field+".gw_addr", "%q; expected an IP address", gateway)
	case otherVersion(gw, dst):
		return invalid(field+".gw_addr", "%q; expected an IPv6 address for the destination %s", gateway, dst)
	}
	return nil
}

// hopDependencies returns the dependencies of a route on one of its next hops: what packets need to
// leave through it. suffix distinguishes the labels of several next hops.
func hopDependencies(h hop, suffix string) []api.Dependency {
	deps := []api.Dependency{isUp(routeInterfaceUp+suffix, h.iface), hasAddress(routeInterfaceAddress+suffix, h.iface)}
	if h.onLink || !h.gateway.IsValid() || h.gateway.IsLinkLocalUnicast() && h.gateway.Is6() { // the latter are on every link
		return deps
	}
	return append(deps, api.Dependency{Label: routeGateway + suffix, AnyOf: api.AnyOfDependency{
		KeyPrefixes: []string{ifmodel.AddressKey.Prefix(h.iface), l3model.LinkLocalRouteKey.Prefix(h.iface)},
		KeySelector: func(key string) bool { return reaches(key, h.gateway) },
	}})
}

// errApart is in errors about objects that one route cannot use together: there is no such route.
var errApart = errors.New("is in another network namespace")

// kernelHops converts next hops; p is the interface of the first.
func kernelHops(ctx context.Context, w *ways, p *ifaceidx.Place, all []hop) ([]netlinkapi.NextHop, error) {
	converted := make([]netlinkapi.NextHop, len(all))
	for i, h := range all {
		link := p.Link.Index
		if i > 0 {
			other, err := w.find(ctx, h.iface)
			if err == nil && other.Namespace() != p.Namespace() {
				err = fmt.Errorf("interface %q %w than the first next hop", h.iface, errApart)
			}
			if err != nil {
				return nil, fmt.Errorf("next_hops[%d]: %w", i-1, err)
			}
			link = other.Link.Index
		}
		converted[i] = netlinkapi.NextHop{Link: link, Gateway: h.gateway, OnLink: h.onLink, Weight: h.weight, Labels: h.labels}
	}
	return converted, nil
}

// valueHops is the inverse of kernelHops; names has the interfaces by link.
func valueHops(r netlinkapi.Route, names map[int]string) []hop {
	var all []hop
	for _, h := range r.Hops() {
		all = append(all, hop{names[h.Link], h.Gateway, h.OnLink, h.Weight, h.Labels})
	}
	return all
}
