package vnet

import (
	"fmt"
	"strings"
)

// layer3 is the state of the features above routes and neighbours.
type layer3 struct {
	arpProxies proxyARP
	neighbors  [families]neighborLimits
	xconnects  pool[l3Xconnect]
	endpoints  pool[tunnelEndpoint]
	dhcp       [families]map[uint32]*dhcpProxy // by ID of the table of the clients
	routers    pool[virtualRouter]
}

func newLayer3() layer3 {
	s := layer3{arpProxies: proxyARP{on: make(map[uint32]struct{})}}
	for f := range families {
		s.neighbors[f] = defaultNeighborLimits()
		s.dhcp[f] = make(map[uint32]*dhcpProxy)
	}
	return s
}

func (n *VNet) handleL3() {
	n.handleProxyARP()
	n.handleNeighborLimits()
	n.handleL3Xconnects()
	n.handleTunnelEndpoints()
	n.handleDHCPProxies()
	n.handleVirtualRouters()
}

func (n *VNet) dumpL3(b *strings.Builder) {
	n.dumpProxyARP(b)
	n.dumpNeighborLimits(b)
	n.dumpL3Xconnects(b)
	n.dumpTunnelEndpoints(b)
	n.dumpDHCPProxies(b)
	n.dumpVirtualRouters(b)
}

// orStaleIf names an interface of a feature that does not clean up behind it.
func (n *VNet) orStaleIf(index uint32) string { return orStale(index, n.inUse(index)) }

// dumpPaths writes paths as the routes show them.
func dumpPaths(b *strings.Builder, paths []string) {
	for _, p := range paths {
		fmt.Fprintf(b, " %s", p)
	}
	b.WriteByte('\n')
}
