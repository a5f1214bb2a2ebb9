// Package descriptor teaches the scheduler to handle layer 2 items of VPP:
// bridge domains, the interfaces in them, entries of their tables, and
// cross-connects.
package descriptor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Southbound names the session that VPP values live in.
const Southbound = "vpp"

// Names of the descriptors.
const (
	BridgeDomainName = "vpp-bridge-domain"
	BDInterfaceName  = "vpp-bd-interface"
	FIBName          = "vpp-l2-fib"
	XConnectName     = "vpp-xconnect"
)

// interfaceName is the descriptor of interfaces, whose metadata are needed to
// recognise them.
const interfaceName = "vpp-interface"

// Interfaces are the interfaces that exist in VPP.
type Interfaces interface {
	LookupByName(name string) (*ifaceidx.IfMeta, bool)
	// Snapshot tells which of them VPP has now, by their indexes.
	Snapshot(ctx context.Context) *ifaceidx.Snapshot
}

// BDMeta is the metadata of a bridge domain. It is never changed.
type BDMeta struct {
	// ID is the number that VPP knows the bridge domain by.
	ID uint32
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

func (b BridgeDomains) id(name string) (uint32, error) {
	m, ok := b.LookupByName(name)
	if !ok {
		return 0, fmt.Errorf("bridge domain %q is not known to exist in VPP", name)
	}
	return m.ID, nil
}

func swIfIndex(ifs Interfaces, name string) (uint32, error) {
	m, ok := ifs.LookupByName(name)
	if !ok {
		return 0, fmt.Errorf("interface %q is not known to exist in VPP", name)
	}
	return m.SwIfIndex, nil
}

// isTagged reports whether VPP may have a setting for the VLAN tags of
// an interface.
func isTagged(ifs Interfaces, name string) bool {
	m, ok := ifs.LookupByName(name)
	return ok && m.Type == interfaces.Interface_SUB_INTERFACE
}

// invalid is the error of Validate for one field.
func invalid(field, format string, args ...any) error {
	return kvs.NewInvalidValueError(fmt.Errorf(format, args...), field)
}

// elsewhere completes the error of an interface that a field names: if it is in
// another place already, the field is said, and what that place is called.
func elsewhere(ctx context.Context, ifs Interfaces, field, name string, err error) error {
	var connected *vppcalls.CrossConnectedError
	switch {
	case errors.As(err, &connected):
		to, _ := ifs.Snapshot(ctx).Name(connected.Tx)
		return fmt.Errorf("%s: %q: is cross-connected to interface %q already", field, name, to)
	case errors.As(err, new(*vppcalls.BridgedError)):
		return fmt.Errorf("%s: %q: %w", field, name, err)
	}
	return fmt.Errorf("interface %q: %w", name, err)
}
