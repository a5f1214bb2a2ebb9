// Package descriptor teaches the scheduler to handle layer 2 items of VPP:
// bridge domains, the interfaces in them, entries of their tables, and
// cross-connects.
package descriptor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Names of the descriptors.
const (
	BridgeDomainName = "vpp-bridge-domain"
	BDInterfaceName  = "vpp-bd-interface"
	FIBName          = "vpp-l2-fib"
	XConnectName     = "vpp-xconnect"
)

// BDMeta is the metadata of a bridge domain. It is never changed.
type BDMeta struct {
	// ID is the number that VPP knows the bridge domain by.
	ID uint32
}

// IndexFields returns the number; see api.IndexedMetadata.
func (m *BDMeta) IndexFields() map[string][]string {
	if m == nil {
		return nil
	}
	return map[string][]string{"index": {strconv.FormatUint(uint64(m.ID), 10)}}
}

// ByID finds bridge domains by their number.
var ByID = idxmap.Index[*BDMeta, uint32]{
	Name: "bd_id",
	Keys: func(m *BDMeta) []uint32 {
		if m == nil {
			return nil
		}
		return []uint32{m.ID}
	},
}

// BridgeDomains are the bridge domains that exist in VPP.
type BridgeDomains struct{ m idxmap.Map[*BDMeta] }

// NewBridgeDomains makes the view of the metadata map of the descriptor
// vpp-bridge-domain.
func NewBridgeDomains(r idxmap.Reader) (BridgeDomains, error) {
	m, err := idxmap.Of[*BDMeta](r)
	return BridgeDomains{m}, err
}

// LookupByName returns the metadata of a bridge domain.
func (b BridgeDomains) LookupByName(name string) (*BDMeta, bool) {
	m, ok := b.m.Get(name)
	return m, ok && m != nil
}

// LookupByID returns the name of the bridge domain with the number.
func (b BridgeDomains) LookupByID(id uint32) (name string, ok bool) {
	for _, name := range ByID.Lookup(b.m, id) {
		return name, true
	}
	return "", false
}

func (b BridgeDomains) id(name string) (uint32, bool) {
	m, ok := b.LookupByName(name)
	if !ok {
		return 0, false
	}
	return m.ID, true
}

// Capabilities returns what layer 2 items need of VPP.
func Capabilities() []binding.Capability {
	return slices.Concat(vppcalls.Operations.Capabilities(), operations.Capabilities())
}

var operations = session.Operations{fibEntries}

// isTagged reports whether VPP may have a setting for the VLAN tags of
// an interface.
func isTagged(ifs item.Interfaces, name string) bool {
	m, ok := ifs.LookupByName(name)
	return ok && m.Type == interfaces.Interface_SUB_INTERFACE
}

// attachmentError completes the error of an interface that a field names: if it is in
// another place already, the field is said, and what that place is called. nil stays nil.
func attachmentError(ctx context.Context, ifs item.Interfaces, field, name string, err error) error {
	var connected *vppcalls.CrossConnectedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &connected):
		to, _ := ifs.Snapshot(ctx).Name(connected.Tx)
		return fmt.Errorf("%s: %q: is cross-connected to interface %q already", field, name, to)
	case errors.As(err, new(*vppcalls.BridgedError)):
		return fmt.Errorf("%s: %q: %w", field, name, err)
	}
	return fmt.Errorf("interface %q: %w", name, err)
}
