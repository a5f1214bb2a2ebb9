package vnet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip6_nd"
)

// ip6RA is what an Ethernet interface advertises, as the dump has it. It exists while IPv6 is enabled
// on the interface.
type ip6RA struct {
	ip6_nd.SwInterfaceIP6ndRaDetails
	prefixes pool[ip6_nd.IP6ndRaPrefix]
}

// ip6RAs are the router advertisements (src/vnet/ip6-nd/ip6_ra.c). No time passes: nothing is sent,
// and lifetimes do not run down.
type ip6RAs struct {
	*VNet
	pool[ip6RA]
}

// The values of an interface that was just enabled, in seconds.
const (
	raMaxInterval, raMinInterval         = 200, 150
	raLifetime, raMaxLifetime            = 600, 9000
	raInitialCount, raInitialInterval    = 3, 16
	raValidLifetime, raPreferredLifetime = 2592000, 604800
	raShortestInterval                   = 3
)

func newIp6RAs(n *VNet) feature {
	n.ip6RAs = &ip6RAs{VNet: n}
	return n.ip6RAs
}

func (r *ip6RAs) register(server *wire.Server) {
	handle[ip6_nd.SwInterfaceIP6ndRaConfigReply](server, r.config)
	handle[ip6_nd.SwInterfaceIP6ndRaPrefixReply](server, r.prefix)
	wire.HandleDump(server, func(c *wire.Call, req *ip6_nd.SwInterfaceIP6ndRaDump) {
		for _, ra := range r.all() {
			if !selects(req.SwIfIndex, uint32(ra.SwIfIndex)) {
				continue
			}
			d := ra.SwInterfaceIP6ndRaDetails
			d.InitialAdvertsSent = d.InitialAdvertsCount == 1
			for _, p := range ra.prefixes.all() {
				d.Prefixes = append(d.Prefixes, *p)
			}
			d.NPrefixes = uint32(len(d.Prefixes))
			c.Send(&d)
		}
	})
}

func (r *ip6RAs) reset() { r.pool = pool[ip6RA]{} }

// linkEnabled is called when IPv6 is enabled on an interface.
func (r *ip6RAs) linkEnabled(i *swInterface) {
	if !i.hw.ethernet {
		return
	}
	mtu := i.mtu[mtuIP6]
	if mtu == 0 {
		mtu = i.mtu[mtuL3]
	}
	r.add(&ip6RA{SwInterfaceIP6ndRaDetails: ip6_nd.SwInterfaceIP6ndRaDetails{
		SwIfIndex: ifIndex(i.index), CurHopLimit: 64, AdvRouterLifetime: raLifetime, AdvLinkMtu: mtu, AdvLinkLayerAddress: true,
		MaxRadvInterval: raMaxInterval, MinRadvInterval: raMinInterval,
		InitialAdvertsCount: raInitialCount, InitialAdvertsInterval: raInitialInterval,
	}})
}

// linkDisabled is called when IPv6 is disabled on an interface.
func (r *ip6RAs) linkDisabled(i *swInterface) {
	if index, ra := r.of(ifIndex(i.index)); ra != nil {
		r.remove(index)
	}
}

func (r *ip6RAs) of(index ifIndex) (uint32, *ip6RA) {
	return r.find(func(ra *ip6RA) bool { return ra.SwIfIndex == index })
}

func (r *ip6RAs) config(req *ip6_nd.SwInterfaceIP6ndRaConfig) retval {
	if r.byIndex(req.SwIfIndex) == nil {
		return api.INVALID_SW_IF_INDEX
	}
	_, ra := r.of(req.SwIfIndex)
	if ra == nil {
		return api.IP6_NOT_ENABLED
	}
	if !r.before("23.02") {
		ra.SendRadv = true
	}
	maximum, minimum, lifetime, valid := ra.numbers(req)
	if !valid {
		return api.INVALID_VALUE
	}
	ra.MaxRadvInterval, ra.MinRadvInterval, ra.AdvRouterLifetime = float64(maximum), float64(minimum), uint16(lifetime)
	for _, f := range []struct {
		asked uint8
		has   *bool
		value bool
	}{
		{req.Suppress, &ra.SendRadv, req.IsNo}, {req.Managed, &ra.AdvManagedFlag, !req.IsNo}, {req.Other, &ra.AdvOtherFlag, !req.IsNo},
		{req.LlOption, &ra.AdvLinkLayerAddress, req.IsNo}, {req.SendUnicast, &ra.SendUnicast, !req.IsNo}, {req.Cease, &ra.CeaseRadv, !req.IsNo},
	} {
		if f.asked == 1 {
			*f.has = f.value
		}
	}
	if req.InitialCount != 0 {
		ra.InitialAdvertsCount = raNumber(req.IsNo, req.InitialCount, raInitialCount)
	}
	if req.InitialInterval != 0 {
		ra.InitialAdvertsInterval = float64(raNumber(req.IsNo, req.InitialInterval, raInitialInterval))
	}
	if req.Cease == 1 && req.IsNo {
		ra.SendRadv = true
	}
	return ok
}

// numbers returns the intervals and the lifetime that a request asks for, and whether VPP takes them.
func (ra *ip6RA) numbers(req *ip6_nd.SwInterfaceIP6ndRaConfig) (maximum, minimum, lifetime uint32, valid bool) {
	if minimum = req.MinInterval; req.MaxInterval != 0 && minimum == 0 {
		minimum = req.MaxInterval * 3 / 4
	}
	if maximum = uint32(ra.MaxRadvInterval); req.MaxInterval != 0 {
		maximum = raNumber(req.IsNo, req.MaxInterval, raMaxInterval)
	}
	if minimum == 0 {
		minimum = uint32(ra.MinRadvInterval)
	} else {
		minimum = raNumber(req.IsNo, minimum, raMinInterval)
	}
	if lifetime = uint32(ra.AdvRouterLifetime); req.DefaultRouter == 1 {
		lifetime = min(raNumber(req.IsNo, req.Lifetime, raLifetime), raMaxLifetime)
	}
	short := minimum != 0 && minimum < raShortestInterval
	long := 4*uint64(minimum) > 3*uint64(maximum) || lifetime != 0 && lifetime <= maximum
	many := req.InitialCount > raInitialCount || req.InitialInterval > raInitialInterval
	valid = !short && !long && !many
	return maximum, minimum, lifetime, valid
}

func raNumber(isDefault bool, n, otherwise uint32) uint32 {
	if isDefault {
		return otherwise
	}
	return n
}

func (r *ip6RAs) prefix(req *ip6_nd.SwInterfaceIP6ndRaPrefix) retval {
	if r.byIndex(req.SwIfIndex) == nil {
		return api.INVALID_SW_IF_INDEX
	}
	_, ra := r.of(req.SwIfIndex)
	if ra == nil {
		return api.IP6_NOT_ENABLED
	}
	index, has := ra.prefixes.find(func(p *ip6_nd.IP6ndRaPrefix) bool { return p.Prefix.Address == req.Prefix.Address })
	switch {
	case req.IsNo && has == nil:
		return api.INVALID_VALUE
	case has != nil && has.Prefix.Len != req.Prefix.Len:
		return api.INVALID_VALUE_2
	case req.IsNo:
		ra.prefixes.remove(index)
		return ok
	case has == nil:
		has = &ip6_nd.IP6ndRaPrefix{
			Prefix: req.Prefix, OnlinkFlag: true, AutonomousFlag: true, ValLifetime: raValidLifetime, PrefLifetime: raPreferredLifetime,
			DecrementLifetimeFlag: true,
		}
		ra.prefixes.add(has)
		if req.UseDefault {
			return ok
		}
	}
	has.ValLifetime, has.PrefLifetime = req.ValLifetime, req.PrefLifetime
	if req.ValLifetime == none || req.PrefLifetime == none {
		has.ValLifetime, has.PrefLifetime, has.DecrementLifetimeFlag = none, none, false
	}
	has.NoAdvertise, has.AutonomousFlag, has.OnlinkFlag = req.NoAdvertise, !req.NoAutoconfig, !req.OffLink && !req.NoOnlink
	return ok
}

func (r *ip6RAs) dumpInterface(b *strings.Builder, i *swInterface) {
	_, ra := r.of(ifIndex(i.index))
	if ra == nil {
		return
	}
	fmt.Fprintf(b, "  router: send %t cease %t managed %t other %t mac %t unicast %t lifetime %d every %v-%v initial %d every %v\n",
		ra.SendRadv, ra.CeaseRadv, ra.AdvManagedFlag, ra.AdvOtherFlag, ra.AdvLinkLayerAddress, ra.SendUnicast,
		ra.AdvRouterLifetime, ra.MinRadvInterval, ra.MaxRadvInterval, ra.InitialAdvertsCount, ra.InitialAdvertsInterval)
	var lines []string
	for _, p := range ra.prefixes.all() {
		lines = append(lines, fmt.Sprintf("  prefix %v on-link %t autonomous %t valid %d preferred %d runs down %t hidden %t\n",
			p.Prefix, p.OnlinkFlag, p.AutonomousFlag, p.ValLifetime, p.PrefLifetime, p.DecrementLifetimeFlag, p.NoAdvertise))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}
