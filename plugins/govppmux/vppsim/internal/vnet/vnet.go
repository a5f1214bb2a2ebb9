// Package vnet is the state of a simulated VPP and the handlers that change it,
// one file per feature, named after the part of VPP it stands for.
//
// The aim is that a control plane cannot tell the difference: the same requests
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
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/span"
)

// none is VPP's "no index": all bits set.
const none = fib.None

// ok is the retval of success.
const ok = api.VPPApiError(0)

// Config tells a simulated VPP about the world around it.
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
	// HostTAP creates the host side of a TAP in the namespace of VPP, and returns
	// the function that removes it. Nil means that TAPs have no host side. An error
	// refuses the TAP. It runs while requests are being handled.
	HostTAP func(name string) (remove func(), err error)
	// PCIDevice says whether there is a device at an address on the PCI bus, in the
	// form that VPP has it. Nil means that there is one at every address.
	PCIDevice func(address uint32) bool
}

// VNet is the whole state of one VPP. Its handlers run under the lock of the
// server they are registered with; exported methods must be called under it too.
type VNet struct {
	cfg    Config
	server *wire.Server

	ifs         interfaces
	l2          layer2
	fibs        *fib.Tables
	subnets     subnets
	nbs         neighbors
	l3          layer3
	events      interfaceEvents
	memifs      memifs
	bonds       bonds
	tunnels     tunnels
	vmxnet3s    vmxnet3s
	dhcpClients dhcpClients
	spans       map[spanKey]span.SpanState
}

// New registers the handlers of all features with the server.
func New(server *wire.Server, cfg Config) *VNet {
	n := &VNet{cfg: cfg, server: server}
	n.Reset()
	n.handleControl()
	n.handleInterfaces()
	n.handleInterfaceEvents()
	n.handleLoopbacks()
	n.handleSubInterfaces()
	n.handleTaps()
	n.handleAFPackets()
	n.handleMemifs()
	n.handleBonds()
	n.handleTunnels()
	n.handleVmxnet3s()
	n.handleRdmas()
	n.handleDHCPClients()
	n.handleIP6Autoconfig()
	n.handleSpans()
	n.handleRxQueues()
	n.handleAddresses()
	n.handleIP6Links()
	n.handleTables()
	n.handleRoutes()
	n.handleNeighbors()
	n.handleL2()
	n.handleL3()
	return n
}

// Reset goes back to the state of a VPP that has just started.
func (n *VNet) Reset() {
	n.removeHostTAPs()
	n.events = interfaceEvents{subscribers: make(map[uint32]uint32), pending: make(map[uint32]ifEvent)}
	n.fibs = fib.New(fib.Options{DropViaLocal0: n.before("24.02")})
	n.subnets = newSubnets()
	n.nbs = neighbors{byOut: make(map[uint32]map[netip.Addr]*neighbor), nextAdj: 1}
	n.l2 = newLayer2()
	n.l3 = newLayer3()
	n.ifs = newInterfaces()
	n.memifs = newMemifs()
	n.tunnels = tunnels{}
	n.vmxnet3s = vmxnet3s{}
	n.dhcpClients = dhcpClients{byIndex: map[uint32]*dhcpClient{}}
	n.spans = map[spanKey]span.SpanState{}
	n.bonds = bonds{members: map[uint32]*bondMember{}}
	n.createLocal0()
	clear(n.events.pending)
}

// before reports that the simulated release ("25.10-simulated") is older than another.
func (n *VNet) before(release string) bool { return n.cfg.Version < release }

// ClientGone ends the subscriptions of a client.
func (n *VNet) ClientGone(client uint32) {
	delete(n.events.subscribers, client)
}

// AfterRequest sends the events that the last request caused.
func (n *VNet) AfterRequest() {
	n.bondsFollow()
	n.routersFollow()
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
