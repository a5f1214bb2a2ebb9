package descriptor

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// The membership of an interface in a VRF table, for IPv4, IPv6 or both, is
// derived from an interface with addresses; one that borrows addresses inherits
// the table of the lender. VPP creates interfaces in table 0, which always
// exists, and puts them back there when the membership is removed.

type vrfDescriptor struct {
	vpp *vppcalls.Calls
	ifs index
}

// NewVrf describes the membership of interfaces in VRF tables.
func NewVrf(vpp *vppcalls.Calls, ifs index) *kvs.KVDescriptor {
	d := &vrfDescriptor{vpp, ifs}
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
		Name:                 VrfName,
		Southbound:           Southbound,
		KeySelector:          isVrf,
		Dependencies:         d.dependencies,
		CreateContext:        d.create,
		DeleteContext:        d.remove,
		RetrieveValueContext: d.retrieveValue,
	})
}

func isVrf(key string) bool {
	if _, _, ok := model.ParseInheritedVrfKey(key); ok {
		return true
	}
	return model.IsTableKey(key)
}

// NewNoTable describes a property of interfaces without addresses: VPP has them in table 0. When
// they get addresses, what uses their table is removed before and made again afterwards.
func NewNoTable() *kvs.KVDescriptor {
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
		Name:       NoTableName,
		Southbound: Southbound,
		Unrecorded: true,
		KeySelector: func(key string) bool {
			_, _, ipv4, ipv6, ok := model.ParseVrfKey(key)
			return ok && !ipv4 && !ipv6
		},
	})
}

func (d *vrfDescriptor) dependencies(key string, _ *emptypb.Empty) []kvs.Dependency {
	if _, from, ok := model.ParseInheritedVrfKey(key); ok {
		return []kvs.Dependency{{
			Label: "numbered-interface-assigned-to-VRF",
			AnyOf: kvs.AnyOfDependency{KeyPrefixes: []string{model.VrfKey.Prefix(from)}, KeySelector: model.IsTableKey},
		}}
	}
	_, vrf, ipv4, ipv6, ok := model.ParseVrfKey(key)
	if !ok || vrf == 0 {
		return nil
	}
	var deps []kvs.Dependency
	if ipv4 {
		deps = append(deps, kvs.Dependency{
			Label: "vrf-table-v4-exists", Key: l3model.VrfTableKey(vrf, l3.VrfTable_IPV4),
		})
	}
	if ipv6 {
		deps = append(deps, kvs.Dependency{
			Label: "vrf-table-v6-exists", Key: l3model.VrfTableKey(vrf, l3.VrfTable_IPV6),
		})
	}
	return deps
}

// membership is what a key says.
type membership struct {
	swIfIndex, vrf uint32
	ipv4, ipv6     bool
}

func (d *vrfDescriptor) parse(key string) (m membership, err error) {
	if iface, from, ok := model.ParseInheritedVrfKey(key); ok {
		lender, known := d.ifs.LookupByName(from)
		if !known {
			return m, fmt.Errorf("interface %q is not known to exist in VPP", from)
		}
		m = inherited(lender)
		m.swIfIndex, err = swIfIndex(d.ifs, iface)
		return m, err
	}
	iface, vrf, ipv4, ipv6, ok := model.ParseVrfKey(key)
	if !ok {
		return m, fmt.Errorf("%q is not the key of a VRF membership", key)
	}
	m = membership{vrf: vrf, ipv4: ipv4, ipv6: ipv6}
	m.swIfIndex, err = swIfIndex(d.ifs, iface)
	return m, err
}

// inherited is the membership of the lender: VPP wants both interfaces in the
// same tables, and the lender is in its own only for the versions of IP that it
// has addresses of.
func inherited(lender *ifaceidx.IfMeta) membership {
	m := membership{vrf: lender.Vrf, ipv4: lender.DHCP}
	for _, addr := range lender.IPAddresses {
		if p, err := netallocmodel.ParseAddress(addr); err == nil {
			m.ipv4 = m.ipv4 || p.Addr().Is4()
			m.ipv6 = m.ipv6 || p.Addr().Is6()
		}
	}
	return m
}

func (d *vrfDescriptor) create(ctx context.Context, key string, _ *emptypb.Empty) (kvs.Metadata, error) {
	m, err := d.parse(key)
	if err != nil {
		return nil, err
	}
	return nil, d.set(ctx, m, m.vrf)
}

func (d *vrfDescriptor) remove(ctx context.Context, key string, _ *emptypb.Empty, _ kvs.Metadata) error {
	var m membership
	iface, _, ok := model.ParseInheritedVrfKey(key)
	if ok {
		m.ipv4, m.ipv6 = true, true // whatever the lender had
	} else {
		iface, m.vrf, m.ipv4, m.ipv6, ok = model.ParseVrfKey(key)
		if ok && m.vrf == 0 {
			return nil // table 0 is where it goes back to
		}
	}
	if !ok {
		return fmt.Errorf("%q is not the key of a VRF membership", key)
	}
	var err error
	if m.swIfIndex, err = swIfIndex(d.ifs, iface); err != nil {
		return err
	}
	if err = d.set(ctx, m, 0); session.Gone(err) {
		return nil
	}
	return err
}

// retrieveValue reads the tables of the interface: no reading of the interface shows them
// while it has no addresses. A member for one of two versions of IP is put back into
// table 0, because an operation failed in between.
func (d *vrfDescriptor) retrieveValue(ctx context.Context, key string, last *emptypb.Empty, _ kvs.Metadata) (
	*emptypb.Empty, kvs.Metadata, bool, error) {
	m, err := d.parse(key)
	if err != nil {
		return nil, nil, false, nil // an interface that does not exist is in no table
	}
	in, out := membership{swIfIndex: m.swIfIndex}, false
	for _, version := range []struct {
		wanted, ipv6 bool
		in           *bool
	}{{m.ipv4, false, &in.ipv4}, {m.ipv6, true, &in.ipv6}} {
		if !version.wanted {
			continue
		}
		vrf, err := d.vpp.Table(ctx, m.swIfIndex, version.ipv6)
		if session.Gone(err) {
			return nil, nil, false, nil
		}
		if err != nil {
			return nil, nil, false, err
		}
		*version.in, out = vrf == m.vrf, out || vrf != m.vrf
	}
	if !out {
		return last, nil, true, nil
	}
	return nil, nil, false, d.set(ctx, in, 0)
}

func (d *vrfDescriptor) set(ctx context.Context, m membership, vrf uint32) error {
	for _, version := range []struct{ wanted, ipv6 bool }{{m.ipv4, false}, {m.ipv6, true}} {
		if !version.wanted {
			continue
		}
		err := d.vpp.SetTable(ctx, m.swIfIndex, vrf, version.ipv6)
		if errors.Is(err, api.ADDRESS_FOUND_FOR_INTERFACE) {
			has, dumpErr := d.vpp.DumpAddresses(ctx, m.swIfIndex, version.ipv6)
			err = fmt.Errorf("the interface has addresses in another VRF table already, %v: %w", has, errors.Join(err, dumpErr))
			err = conflict(err, field{"vrf", vrf})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
