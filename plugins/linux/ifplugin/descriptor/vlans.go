package descriptor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// The VLANs of a port of a bridge, and of a bridge towards its host, are a value derived from
// the interface. A port that enters a bridge has VLAN 1; so it is again when the value goes.

// BridgeVlansName is the name of the descriptor of VLANs.
const BridgeVlansName = "linux-interface-vlans"

// portDependency is the label of the dependency of VLANs on the port.
const portDependency = "interface-is-port"

type bridgeVlans struct{ Deps }

// NewBridgeVlans returns the descriptor linux-interface-vlans.
func NewBridgeVlans(deps Deps) *api.KVDescriptor {
	d := bridgeVlans{deps}
	return api.Adapt(&api.Descriptor[*interfaces.Interface, any]{
		Name:       BridgeVlansName,
		Southbound: nsmodel.Southbound,
		KeySelector: func(key string) bool {
			_, ok := ifmodel.BridgeVlansKey.Parse(key)
			return ok
		},
		ValueComparator: func(_ string, a, b *interfaces.Interface) bool {
			return a.GetMasterInterface() == b.GetMasterInterface() && slices.Equal(vlansOf(a.GetBridgeVlans()), vlansOf(b.GetBridgeVlans()))
		},
		Dependencies: d.dependencies,
		UpdateWithRecreate: func(_ string, a, b *interfaces.Interface, _ any) bool {
			return a.GetMasterInterface() != b.GetMasterInterface()
		},
		CreateContext: func(ctx context.Context, _ string, v *interfaces.Interface) (any, error) { return nil, d.apply(ctx, v) },
		UpdateContext: func(ctx context.Context, _ string, _, v *interfaces.Interface, _ any) (any, error) {
			return nil, d.apply(ctx, v)
		},
		DeleteContext:        d.delete,
		RetrieveValueContext: d.retrieveValue,
	})
}

// firstVLANs returns the VLANs of a new port.
func firstVLANs() []netlinkapi.PortVLAN {
	return []netlinkapi.PortVLAN{{ID: 1, PVID: true, Untagged: true}}
}

// parseRange parses a VLAN or a range of VLANs.
func parseRange(text string) (first, last uint16, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	a, errA := strconv.ParseUint(from, 10, 16)
	b, errB := strconv.ParseUint(to, 10, 16)
	if errA != nil || errB != nil || a < 1 || b < a || b > netlinkapi.MaxVLAN {
		return 0, 0, fmt.Errorf("%q; expected a VLAN from 1 to %d, or a range such as 20-29", text, netlinkapi.MaxVLAN)
	}
	return uint16(a), uint16(b), nil
}

// vlansOf returns the VLANs of a value that was validated, sorted.
func vlansOf(v *interfaces.BridgeVlans) []netlinkapi.PortVLAN {
	var all [netlinkapi.MaxVLAN + 1]netlinkapi.PortVLAN
	pvid := uint16(v.GetPvid())
	all[pvid] = netlinkapi.PortVLAN{ID: pvid, Untagged: true}
	for i, texts := range [][]string{v.GetTagged(), v.GetUntagged()} {
		for _, text := range texts {
			first, last, err := parseRange(text)
			for id := first; err == nil && id <= last; id++ {
				all[id] = netlinkapi.PortVLAN{ID: id, Untagged: i == 1}
			}
		}
	}
	all[pvid].PVID = true
	return slices.DeleteFunc(all[1:], func(v netlinkapi.PortVLAN) bool { return v.ID == 0 })
}

// vlansValue is the inverse of vlansOf.
func vlansValue(all []netlinkapi.PortVLAN) *interfaces.BridgeVlans {
	v := &interfaces.BridgeVlans{}
	for _, r := range ranges(all) {
		text := strconv.Itoa(int(r.first.ID))
		if r.last != r.first.ID {
			text += "-" + strconv.Itoa(int(r.last))
		}
		switch {
		case r.first.PVID && r.first.Untagged:
			v.Pvid = uint32(r.first.ID)
			continue
		case r.first.PVID:
			v.Pvid = uint32(r.first.ID)
		}
		if r.first.Untagged {
			v.Untagged = append(v.Untagged, text)
		} else {
			v.Tagged = append(v.Tagged, text)
		}
	}
	return v
}

// vlanRange is several VLANs that differ by nothing but their numbers.
type vlanRange struct {
	first netlinkapi.PortVLAN
	last  uint16
}

// ranges joins what can be changed by one request; a PVID is alone.
func ranges(all []netlinkapi.PortVLAN) []vlanRange {
	var joined []vlanRange
	for _, v := range all {
		if n := len(joined) - 1; n >= 0 && !v.PVID && !joined[n].first.PVID && joined[n].last+1 == v.ID && joined[n].first.Untagged == v.Untagged {
			joined[n].last = v.ID
			continue
		}
		joined = append(joined, vlanRange{v, v.ID})
	}
	return joined
}

// checkVlans checks the VLANs of an interface.
func checkVlans(v *interfaces.Interface) error {
	vlans := v.GetBridgeVlans()
	switch {
	case vlans == nil:
		return nil
	case v.GetMasterInterface() == "" && v.GetType() != interfaces.Interface_BRIDGE:
		return invalid("bridge_vlans", "only allowed for type BRIDGE, and with master_interface")
	}
	var errs []error
	var seen [netlinkapi.MaxVLAN + 1]string
	for _, f := range []struct {
		name  string
		texts []string
	}{{"tagged", vlans.GetTagged()}, {"untagged", vlans.GetUntagged()}} {
		for i, text := range f.texts {
			field := fmt.Sprintf("bridge_vlans.%s[%d]", f.name, i)
			first, last, err := parseRange(text)
			if err != nil {
				errs = append(errs, invalid(field, "%w", err))
				continue
			}
			if other := slices.IndexFunc(seen[first:last+1], func(s string) bool { return s != "" }); other >= 0 {
				errs = append(errs, invalid(field, "VLAN %d is in %s, too; expected it once", int(first)+other, seen[int(first)+other]))
			}
			for id := first; id <= last; id++ {
				seen[id] = field
			}
		}
	}
	return errors.Join(errs...)
}

func (d bridgeVlans) dependencies(_ string, v *interfaces.Interface) []api.Dependency {
	if v.GetMasterInterface() == "" {
		return nil
	}
	return []api.Dependency{{Label: portDependency, Key: ifmodel.PortKey.Key(v.GetName())}}
}

// read returns the link and its VLANs.
func (d bridgeVlans) read(ctx context.Context, v *interfaces.Interface) (*ifaceidx.Place, []netlinkapi.PortVLAN, error) {
	p, err := ifaceidx.Find(ctx, d.Index, d.Namespaces, v.GetName())
	if err != nil {
		return nil, nil, err
	}
	all, err := p.PortVLANs(ctx)
	if err != nil {
		closeHandle(p)
		return nil, nil, err
	}
	return p, all[p.Link.Index], nil
}

func (d bridgeVlans) apply(ctx context.Context, v *interfaces.Interface) error {
	p, now, err := d.read(ctx, v)
	if err != nil {
		return err
	}
	defer closeHandle(p)
	return explain(change(ctx, p, now, vlansOf(v.GetBridgeVlans())))
}

// change adds VLANs before it deletes others.
func change(ctx context.Context, p *ifaceidx.Place, now, want []netlinkapi.PortVLAN) error {
	missing := slices.DeleteFunc(slices.Clone(want), func(v netlinkapi.PortVLAN) bool { return slices.Contains(now, v) })
	surplus := slices.DeleteFunc(slices.Clone(now), func(v netlinkapi.PortVLAN) bool {
		return slices.ContainsFunc(want, func(w netlinkapi.PortVLAN) bool { return w.ID == v.ID })
	})
	for _, r := range ranges(missing) {
		if err := p.AddPortVLANs(ctx, p.Link.Index, r.first, r.last); err != nil {
			return err
		}
	}
	for _, r := range ranges(surplus) {
		if err := p.DeletePortVLANs(ctx, p.Link.Index, r.first.ID, r.last); err != nil {
			return err
		}
	}
	return nil
}

func (d bridgeVlans) delete(ctx context.Context, _ string, v *interfaces.Interface, _ any) error {
	p, now, err := d.read(ctx, v)
	if err != nil {
		return ignoreGone(err)
	}
	defer closeHandle(p)
	if v.GetType() != interfaces.Interface_BRIDGE {
		if p.Link.Master == 0 {
			return nil // it has left
		}
		if master, err := p.LinkByIndex(ctx, p.Link.Master); err != nil || master.Kind != netlinkapi.KindBridge {
			return ignoreGone(err) // for another kind of master
		}
	}
	return ignoreGone(change(ctx, p, now, firstVLANs()))
}

func (d bridgeVlans) retrieveValue(ctx context.Context, _ string, last *interfaces.Interface, _ any) (*interfaces.Interface, any, bool, error) {
	p, now, err := d.read(ctx, last)
	if err != nil {
		return nil, nil, false, ignoreGone(err)
	}
	defer closeHandle(p)
	return &interfaces.Interface{
		Name: last.GetName(), Type: last.GetType(), MasterInterface: last.GetMasterInterface(), BridgeVlans: vlansValue(now),
	}, nil, true, nil
}

// addVlans fills in the VLANs of a bridge or port: those that are wanted, or not those that
// the kernel begins with.
func (s *space) addVlans(l netlinkapi.Link, v, want *interfaces.Interface) {
	now, known := s.vlans[l.Index]
	if !known && want.GetBridgeVlans() == nil || v.GetMasterInterface() == "" && v.GetType() != interfaces.Interface_BRIDGE {
		return
	}
	if want.GetBridgeVlans() != nil || !slices.Equal(now, firstVLANs()) {
		v.BridgeVlans = vlansValue(now)
	}
}
