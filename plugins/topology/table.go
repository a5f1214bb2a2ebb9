package topology

import (
	linuxif "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/topology/response"
	vppif "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/descriptor"
	l2 "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/descriptor"
)

// The names of the models that the picture knows.
const (
	vppInterface   = "vpp.interfaces"
	bridgeDomain   = "vpp.l2.bridge-domain"
	vrfTable       = "vpp.vrf-table"
	linuxInterface = "linux.interfaces.interface"
	linuxPair      = "vpp.linuxcp.pair"
)

// nodeModels are the models whose items are nodes, with the kinds of the nodes. The order is that
// of the computation, not of the picture.
var nodeModels = []modelKind{
	{vppInterface, response.Interface}, {bridgeDomain, response.BridgeDomain}, {vrfTable, response.VRF}, {linuxInterface, response.Interface},
}

// linkModels are the models whose items link the nodes that they depend on.
var linkModels = []modelKind{
	{"vpp.l2.xconnect", response.CrossConnect}, {"vpp.span", response.Mirror}, {"vpp.wg.peer", response.Tunnel}, {linuxPair, response.Cable},
}

type modelKind struct{ model, kind string }

// typeKinds are the types of interfaces that are nodes of a kind of their own.
var typeKinds = map[string]string{
	"BOND_INTERFACE": response.Bond, "BOND": response.Bond, "BRIDGE": response.BridgeDomain, "VRF_DEVICE": response.VRF,
}

// partOf are the types of interfaces that are parts of the interface that they depend on.
var partOf = map[string]bool{"SUB_INTERFACE": true, "VLAN": true, "MACVLAN": true, "IPVLAN": true}

// vethType is the type of an interface of Linux that is one end of a cable.
const vethType = "VETH"

// partLink is the link that a derived value makes between the node of its item and the nodes that
// it depends on.
type partLink struct {
	kind string
	// ofHub: the value is a part of the bridge domain or bond, and depends on the member.
	ofHub bool
}

// partLinks are the links of derived values by the names of their descriptors. The dependencies of
// all other derived values are no links.
var partLinks = map[string]partLink{
	l2.BDInterfaceName: {response.Member, true}, vppif.BondMemberName: {response.Member, true},
	vppif.VrfName: {response.InVRF, false}, vppif.UnnumberedName: {response.Unnumbered, false},
	linuxif.PortName: {response.Member, false}, linuxif.VrfName: {response.InVRF, false},
}

// farFields are the fields with the address of the far end of a tunnel, in the link of an
// interface, in its peers and paths, and in items that are tunnels.
var farFields = map[string]bool{
	"dst_address": true, "dst_addr": true, "remote": true, "remote_ip": true, "endpoint": true, "multicast": true, "next_hop_addr": true,
}
