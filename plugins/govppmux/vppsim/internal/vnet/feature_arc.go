package vnet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	featureapi "go.fd.io/govpp/binapi/feature"
)

// arcFeature is a node of VPP in the path of packets, and the name of the path.
type arcFeature struct{ arc, node string }

// featureArcs are the nodes that other features have put into the paths of interfaces. A node that
// is put there twice handles each packet twice. They go with the interface.
type featureArcs struct {
	*VNet
	on map[uint32]map[arcFeature]int
}

func newFeatureArcs(n *VNet) feature {
	n.arcs = &featureArcs{VNet: n}
	return n.arcs
}

func (a *featureArcs) register(server *wire.Server) {
	handle[featureapi.FeatureEnableDisableReply](server, func(req *featureapi.FeatureEnableDisable) retval {
		f := arcFeature{req.ArcName, req.FeatureName}
		switch {
		case a.byIndex(req.SwIfIndex) == nil:
			return api.INVALID_SW_IF_INDEX
		case !slices.Contains(a.arcFeatures(), f):
			return api.INVALID_VALUE
		}
		a.set(uint32(req.SwIfIndex), f, req.Enable)
		return ok
	})
}

// arcFeatures are the ones that clients enable and disable by name.
func (n *VNet) arcFeatures() []arcFeature {
	return slices.Concat(n.policerInput(), policerOutput(), []arcFeature{{"ip4-unicast", "cnat-snat-ip4"}, {"ip6-unicast", "cnat-snat-ip6"}})
}

func (a *featureArcs) reset() { a.on = make(map[uint32]map[arcFeature]int) }

func (a *featureArcs) interfaceRemoved(i *swInterface) { delete(a.on, i.index) }

// set puts a node into the path of an interface, or takes it out once.
func (a *featureArcs) set(index uint32, f arcFeature, on bool) {
	if a.on[index] == nil {
		a.on[index] = make(map[arcFeature]int)
	}
	switch {
	case on:
		a.on[index][f]++
	case a.on[index][f] > 1:
		a.on[index][f]--
	default:
		delete(a.on[index], f)
	}
}

func (a *featureArcs) dumpInterface(b *strings.Builder, i *swInterface) {
	for _, f := range slices.SortedFunc(maps.Keys(a.on[i.index]), func(a, b arcFeature) int {
		return strings.Compare(a.arc+a.node, b.arc+b.node)
	}) {
		fmt.Fprintf(b, "  %s: %s", f.arc, f.node)
		if n := a.on[i.index][f]; n > 1 {
			fmt.Fprintf(b, " %d times", n)
		}
		b.WriteString("\n")
	}
}
