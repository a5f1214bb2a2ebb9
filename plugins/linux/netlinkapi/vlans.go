package netlinkapi

import "context"

// PortVLAN is a VLAN of a port of a bridge, or of the bridge itself.
type PortVLAN struct {
	ID       uint16
	PVID     bool // frames that come in without a tag are of this VLAN; of one VLAN at most
	Untagged bool // its frames leave without a tag
}

// MaxVLAN is the highest VLAN.
const MaxVLAN = 4094

// BridgeVLANs reads and changes the VLANs of bridges and their ports. Each begins with VLAN 1,
// PVID and untagged. A kernel without VLAN filtering has none: changes are ErrUnsupported.
type BridgeVLANs interface {
	// PortVLANs returns the VLANs of all bridges and ports by link, sorted by number.
	// Equivalent to: `bridge vlan show`
	PortVLANs(ctx context.Context) (map[int][]PortVLAN, error)
	// AddPortVLANs adds the VLANs from first.ID to last, or changes those that are there.
	// A PVID is one VLAN alone.
	// Equivalent to: `bridge vlan add vid FIRST-LAST dev LINK pvid untagged`, of a bridge with `self`
	AddPortVLANs(ctx context.Context, link int, first PortVLAN, last uint16) error
	// DeletePortVLANs deletes VLANs; one that is not there is no error.
	// Equivalent to: `bridge vlan delete vid FIRST-LAST dev LINK`
	DeletePortVLANs(ctx context.Context, link int, first, last uint16) error
}
