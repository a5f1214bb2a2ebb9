package descriptor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.fd.io/govpp/api"
	bondapi "go.fd.io/govpp/binapi/bond"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A bond makes one Ethernet interface of several; which ones are values of their
// own (see bond_member.go). Its ID is the number in the name that VPP gives. The
// algorithm of load balancing can be chosen in the modes XOR and LACP only. Its
// MAC address is chosen at creation, or is the address of the first member; VPP
// gives it to all members, and restores their addresses when they leave.

type bond struct {
	kindDefaults
	vpp *vppcalls.Calls
}

func (bond) traits() traits {
	return traits{link: func() proto.Message { return &interfaces.BondLink{} }}
}

func (bond) check(i *interfaces.Interface) error {
	l := i.GetBond()
	var errs []error
	lb, known := loadBalance(l)
	switch {
	case !known:
		errs = append(errs, invalid("bond.mode", "%s, expected ROUND_ROBIN, ACTIVE_BACKUP, XOR, BROADCAST or LACP", l.GetMode()))
	case lb > interfaces.BondLink_L23 && lb == l.GetLb() && choosesBalance(l):
		errs = append(errs, invalid("bond.lb", "%s, expected L2, L34 or L23 in mode %s", lb, l.GetMode()))
	}
	seen := map[string]bool{}
	for n, m := range l.GetBondedInterfaces() {
		field := fmt.Sprintf("bond.bonded_interfaces[%d].name", n)
		switch name := m.GetName(); {
		case name == i.GetName():
			errs = append(errs, invalid(field, "is the bond itself"))
		case seen[name]:
			errs = append(errs, invalid(field, "%q is listed twice", name))
		}
		seen[m.GetName()] = true
	}
	return errors.Join(errs...)
}

// choosesBalance reports that the mode lets one choose the load balancing.
func choosesBalance(l *interfaces.BondLink) bool {
	return l.GetMode() == interfaces.BondLink_XOR || l.GetMode() == interfaces.BondLink_LACP
}

// loadBalance is the algorithm that VPP uses; known is false without a mode.
func loadBalance(l *interfaces.BondLink) (lb interfaces.BondLink_LoadBalance, known bool) {
	switch l.GetMode() {
	case interfaces.BondLink_ROUND_ROBIN:
		return interfaces.BondLink_RR, true
	case interfaces.BondLink_BROADCAST:
		return interfaces.BondLink_BC, true
	case interfaces.BondLink_ACTIVE_BACKUP:
		return interfaces.BondLink_AB, true
	}
	return l.GetLb(), choosesBalance(l)
}

func (bond) identities(i *interfaces.Interface) []string {
	return []string{identity("bond", field{value: i.GetBond().GetId()})}
}

// sameLink does not look at the members: they come and go.
func (bond) sameLink(a, b *interfaces.Interface) bool {
	x, y := a.GetBond(), b.GetBond()
	lbX, _ := loadBalance(x)
	lbY, _ := loadBalance(y)
	return x.GetId() == y.GetId() && x.GetMode() == y.GetMode() && lbX == lbY
}

func (k bond) create(ctx context.Context, i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	l := i.GetBond()
	req := &bondapi.BondCreate2{ID: l.GetId(), Mode: bondapi.BondMode(l.GetMode())} // of the same numbers
	if choosesBalance(l) {
		req.Lb = bondapi.BondLbAlgo(l.GetLb())
	}
	if mac != nil {
		req.UseCustomMac, req.MacAddress = true, *mac
	}
	idx, err := k.vpp.CreateBond(ctx, req)
	if errors.Is(err, api.INSTANCE_IN_USE) {
		idx, err = adoptAmong(ctx, k.vpp, k.vpp.DumpBonds, func(b vppcalls.Bond) bool { return b.ID == l.GetId() }, func(b vppcalls.Bond) bool {
			return k.sameLink(i, &interfaces.Interface{Link: &interfaces.Interface_Bond{Bond: bondLink(b)}})
		}, err)
		err = conflict(err, field{"bond.id", l.GetId()})
	}
	if errors.Is(err, api.FEATURE_DISABLED) {
		err = fmt.Errorf("mode %s needs the plugin lacp of VPP: %w", l.GetMode(), err)
	}
	return &ifaceidx.IfMeta{SwIfIndex: idx}, err
}

func (k bond) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteBond(ctx, m.SwIfIndex)
}

func (bond) claims(d vppcalls.Details) bool {
	return !d.SubInterface && d.DevType == vppcalls.BondDevice
}

func (k bond) read(ctx context.Context, names func(uint32) string) (recogniser, error) {
	all, err := k.vpp.DumpBonds(ctx)
	return func(d vppcalls.Details, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		found, ok := all[d.SwIfIndex]
		if !ok {
			return false
		}
		l := bondLink(found)
		for _, m := range found.Members {
			if m.Weight != 0 {
				kvs.AddUnmodeled(i, fmt.Sprintf("member %s weight %d", m.InterfaceName, m.Weight))
			}
			if name := names(uint32(m.SwIfIndex)); name != "" { // see untaggedParts
				l.BondedInterfaces = append(l.BondedInterfaces, &interfaces.BondLink_BondedInterface{
					Name: name, IsPassive: m.IsPassive, IsLongTimeout: m.IsLongTimeout,
				})
			}
		}
		slices.SortFunc(l.BondedInterfaces, func(a, b *interfaces.BondLink_BondedInterface) int {
			return strings.Compare(a.Name, b.Name)
		})
		i.Type, i.Link = interfaces.Interface_BOND_INTERFACE, &interfaces.Interface_Bond{Bond: l}
		if found.NumaOnly {
			kvs.AddUnmodeled(i, "numa_only true")
		}
		return true
	}, err
}

// bondLink describes a bond without its members.
func bondLink(b vppcalls.Bond) *interfaces.BondLink {
	return &interfaces.BondLink{
		Id: b.ID, Mode: interfaces.BondLink_Mode(b.Mode), Lb: interfaces.BondLink_LoadBalance(b.Lb),
	}
}
