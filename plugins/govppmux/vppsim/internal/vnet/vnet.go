// Package vnet is the state of a simulated VPP and the handlers that change it: the
// core (interfaces, addresses, tables, routes, neighbours, bridge domains) and the
// features, one file for each, named as the item that configures it.
//
// A new feature is a new file, with a function from *VNet to feature (feature.go). The file has a
// struct that embeds *VNet, register with the handlers (see handle), reset, and what
// else the feature needs of the interfaces in feature.go: a part of the dump, cleaning
// up behind interfaces, commands. span.go is a small one to begin with, teib.go one
// with routes, vxlan.go one that creates interfaces.
//
// The aim is that a control plane cannot see the difference: the same requests
// are refused with the same retvals, indexes are reused in the same order, routes
// that VPP adds by itself appear in dumps, and what VPP forgets to clean up stays
// behind. Packets are not simulated. Facts were learnt from VPP 25.10, and where
// releases differ from the sources of all and from a VPP 23.06 and 26.06.
package vnet

import (
	"net/netip"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
)

// none is VPP's "no index": all bits set.
const none = fib.None

// Config describes the world around a simulated VPP.
type Config struct {
	// Version is what show_version reports.
	Version string
	// PID returns the process ID that control_ping reports.
	PID func() uint32
	// Now is the clock of show_vpe_system_time.
	Now func() time.Time
	// HostInterface says whether a host interface exists; AF_PACKET interfaces can
	// only be made on existing ones. Nil means that any name exists.
	HostInterface func(name string) bool
	// HostMTU gives a host interface an MTU, and reports whether it did. Nil: host interfaces have none.
	HostMTU func(name string, mtu uint32) bool
	// HostTAP creates the host side of a TAP in the namespace of VPP, and returns
	// the function that removes it. Nil means that TAPs have no host side. An error
	// refuses the TAP. It runs while requests are being handled.
	HostTAP func(name string) (remove func(), err error)
	// PCIDevice says whether there is a device at an address on the PCI bus, in the
	// form that VPP has it. Nil means that there is one at every address.
	PCIDevice func(address uint32) bool
	// Devices are the names of the network cards that VPP finds when it starts.
	Devices []string
}

// VNet is the whole state of one VPP. Its handlers run under the lock of the
// server they are registered with; exported methods must be called under it too.
type VNet struct {
	cfg    Config
	server *wire.Server

	// The core, which the features build on.
	ifs     interfaces
	hws     pool[hwInterface]
	l2      layer2
	fibs    *fib.Tables
	subnets subnets
	arps    arpEntries
	events  interfaceEvents

	crashes []string // see crash

	features []feature
	hooks    hooks // of the features
	// Features that others build on.
	bfds           *bfds
	dhcpClients    *dhcpClients
	dns            *dnsCache
	ikev2s         *ikev2s
	l2fib          *l2FIB
	ip6RAs         *ip6RAs
	ipScanNeighbor *ipScanNeighbor
	ipsecSAs       *ipsecSAs
	ipsecSPDs      *ipsecSPDs
	srPolicies     *srPolicies
	acls           *acls
	arcs           *featureArcs
	taps           *taps
}

// New registers the handlers of the core and of all features with the server.
func New(server *wire.Server, cfg Config) *VNet {
	n := &VNet{cfg: cfg, server: server}
	n.makeFeatures()
	n.Reset()
	n.handleControl()
	n.handleInterfaces()
	n.handleInterfaceEvents()
	n.handleAddresses()
	n.handleIP6Links()
	n.handleVRFTables()
	n.handleRoutes()
	n.handleARP()
	n.handleL2()
	for _, f := range n.features {
		f.register(server)
	}
	return n
}

// Reset goes back to the state of a VPP that has just started.
func (n *VNet) Reset() {
	n.events = interfaceEvents{subscribers: make(map[uint32]uint32), pending: make(map[uint32]ifEvent)}
	n.fibs = fib.New(fib.Options{DropViaLocal0: n.before("24.02")})
	n.subnets = newSubnets()
	n.arps = arpEntries{byOut: make(map[uint32]map[netip.Addr]*arpEntry), nextAdj: 1}
	n.l2 = newLayer2()
	n.ifs, n.hws = interfaces{}, pool[hwInterface]{}
	n.createLocal0()
	n.createDevices()
	clear(n.events.pending)
	for _, f := range n.features {
		f.reset()
	}
}

// before reports that the simulated release ("25.10-simulated") is older than another.
func (n *VNet) before(release string) bool { return n.cfg.Version < release }

// ClientGone ends the subscriptions of a client.
func (n *VNet) ClientGone(client uint32) {
	delete(n.events.subscribers, client)
	for _, f := range n.hooks.clientFollowers {
		f.clientGone(client)
	}
}

// AfterRequest sends the events that the last request caused.
func (n *VNet) AfterRequest() {
	for _, f := range n.hooks.followers {
		f.afterRequest()
	}
	n.flushInterfaceEvents()
}

// family selects between the two halves of dual state, as an array index.
type family = fib.Family

const (
	ip4      = fib.IP4
	ip6      = fib.IP6
	families = fib.Families
)

func familyOf(a netip.Addr) family { return fib.FamilyOf(a) }

func familyFlag(isIPv6 bool) family {
	if isIPv6 {
		return ip6
	}
	return ip4
}
