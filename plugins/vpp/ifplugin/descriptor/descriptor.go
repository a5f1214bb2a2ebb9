// Package descriptor teaches the scheduler to handle VPP interfaces and what
// is derived from them: addresses, VRF membership, borrowed addresses and the
// state of the link.
package descriptor

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Southbound names the session that VPP values live in.
const Southbound = "vpp"

// Names of the descriptors.
const (
	InterfaceName   = "vpp-interface"
	AddressName     = "vpp-interface-address"
	HasAddressName  = "vpp-interface-has-address"
	VrfName         = "vpp-interface-vrf"
	NoTableName     = "vpp-interface-no-table"
	NeighborsName   = "vpp-interface-neighbors"
	UnnumberedName  = "vpp-unnumbered-interface"
	LinkStateName   = "vpp-interface-link-state"
	PhysicalName    = "vpp-physical-interface"
	RxModeName      = "vpp-interface-rx-mode"
	RxPlacementName = "vpp-interface-rx-placement"
	BondMemberName  = "bond-interface"
	DHCPClientName  = "vpp-dhcp"
	DHCPLeaseName   = "vpp-dhcp-lease"
	IP6NDName       = "vpp-ip6nd"
	SpanName        = "vpp-span"
)

// Capabilities returns the capabilities of VPP that the types of interfaces and
// the derived values of interfaces need.
func Capabilities() []binding.Capability {
	return slices.Concat(vppcalls.Operations.Capabilities(), operations.Capabilities())
}

var operations = session.Operations{
	loopbacks.op, taps.op, vxlanTunnels.op, gpeTunnels.op, greTunnels.op, ipipTunnels.op, gtpuTunnels.op,
	ipsecInterfaces.op, wireguards.op, vmxnet3Cards.op, rdmaCards.op, mplsTunnels.op, mirrorings,
}

// index finds the interfaces that exist in VPP.
type index interface {
	LookupByName(name string) (*ifaceidx.IfMeta, bool)
	LookupBySwIfIndex(swIfIndex uint32) (name string, m *ifaceidx.IfMeta, ok bool)
	Snapshot(ctx context.Context) *ifaceidx.Snapshot
	Overlapping(vrf uint32, iface string, addr netip.Prefix) (names []string)
}

// swIfIndex returns what VPP calls the interface.
func swIfIndex(ifs index, name string) (uint32, error) {
	m, ok := ifs.LookupByName(name)
	if !ok {
		return 0, fmt.Errorf("interface %q is not known to exist in VPP", name)
	}
	return m.SwIfIndex, nil
}

// invalid is the error of Validate for one field.
func invalid(field, format string, args ...any) error {
	return kvs.NewInvalidValueError(fmt.Errorf(format, args...), field)
}
