package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	alloc "github.com/tenuto-dev/tenuto/plugins/netalloc"
	allocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// An address of an interface is derived from the interface; the key has all of it.
// VPP refuses to change the VRF table of an interface with addresses, so every
// address waits for the membership in a table and goes before it does. There is
// no Retrieve: addresses are derived from the retrieved interface too.

type addressDescriptor struct {
	vpp   *vppcalls.Calls
	ifs   index
	alloc alloc.Addresses
}

// NewAddress describes the addresses of interfaces, own ones and references to allocated ones.
func NewAddress(vpp *vppcalls.Calls, ifs index, allocated alloc.Addresses) *kvs.KVDescriptor {
	d := &addressDescriptor{vpp, ifs, allocated}
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
		Name:         AddressName,
		Southbound:   Southbound,
		KeySelector:  isConfiguredAddress,
		Dependencies: d.dependencies,
		Identities: func(key string, _ *emptypb.Empty) []string {
			_, text, _, ok := model.ParseAddressKey(key)
			if !ok {
				return nil
			}
			return []string{"address/" + text} // VPP has it once in a VRF table
		},
		CreateContext: d.create,
		DeleteContext: d.remove,
	})
}

// isConfiguredAddress: addresses from DHCP are given by VPP itself.
func isConfiguredAddress(key string) bool {
	_, _, source, ok := model.ParseAddressKey(key)
	return ok && (source == netalloc.IPAddressSource_STATIC || source == netalloc.IPAddressSource_ALLOC_REF)
}

func (d *addressDescriptor) dependencies(key string, _ *emptypb.Empty) []kvs.Dependency {
	iface, text, _, ok := model.ParseAddressKey(key)
	if !ok {
		return nil
	}
	return append([]kvs.Dependency{{
		Label: "interface-assigned-to-vrf-table",
		AnyOf: kvs.AnyOfDependency{KeyPrefixes: []string{model.VrfKey.Prefix(iface)}},
	}}, allocmodel.Dependencies("", text, iface)...)
}

func (d *addressDescriptor) create(ctx context.Context, key string, _ *emptypb.Empty) (kvs.Metadata, error) {
	idx, addr, err := d.parse(key)
	if err != nil {
		return nil, err
	}
	err = d.vpp.AddAddress(ctx, idx, addr)
	if errors.Is(err, api.ADDRESS_IN_USE) || errors.Is(err, api.DUPLICATE_IF_ADDRESS) {
		err = conflict(d.inUse(ctx, key, addr, err), field{"ip_addresses", addr})
	}
	return nil, err
}

// inUse says which interface has an address that VPP does not have beside the new
// one. Of those that are to have one VPP is asked whether they do.
func (d *addressDescriptor) inUse(ctx context.Context, key string, addr netip.Prefix, cause error) error {
	iface, _, _, _ := model.ParseAddressKey(key)
	m, ok := d.ifs.LookupByName(iface)
	if !ok {
		return cause
	}
	for _, name := range d.ifs.Overlapping(m.Vrf, iface, addr) {
		other, ok := d.ifs.LookupByName(name)
		if !ok {
			continue
		}
		has, err := d.vpp.DumpAddresses(ctx, other.SwIfIndex, addr.Addr().Is6())
		if err != nil {
			return errors.Join(cause, err)
		}
		for _, a := range has {
			if ifaceidx.Excludes(a, addr, name == iface) {
				return fmt.Errorf("overlaps with %s of interface %q in VRF table %d: %w", a, name, m.Vrf, cause)
			}
		}
	}
	return fmt.Errorf("overlaps in VRF table %d with an address that this agent did not configure: %w", m.Vrf, cause)
}

func (d *addressDescriptor) remove(ctx context.Context, key string, _ *emptypb.Empty, _ kvs.Metadata) error {
	idx, addr, err := d.parse(key)
	if err != nil {
		return err
	}
	return d.vpp.RemoveAddress(ctx, idx, addr)
}

func (d *addressDescriptor) parse(key string) (idx uint32, addr netip.Prefix, err error) {
	iface, text, _, ok := model.ParseAddressKey(key)
	if !ok {
		return 0, addr, fmt.Errorf("%q is not the key of an address", key)
	}
	if allocmodel.IsRef(text) {
		addr, err = d.allocated(text, iface)
	} else {
		addr, err = allocmodel.ParseAddress(text)
	}
	if err != nil {
		return 0, addr, err
	}
	idx, err = swIfIndex(d.ifs, iface)
	return idx, addr, err
}

// allocated returns the address that a reference means. The interface is in the VRF table for
// IPv4 because of it: the version of IP was not known.
func (d *addressDescriptor) allocated(text, iface string) (netip.Prefix, error) {
	addr, ok := d.alloc.Lookup(text, iface)
	if !ok {
		return addr, fmt.Errorf("%s is not allocated", text)
	}
	m, ok := d.ifs.LookupByName(iface)
	if !ok || m.Vrf == 0 || addr.Addr().Is4() {
		return addr, nil
	}
	for _, own := range m.IPAddresses {
		if p, err := allocmodel.ParseAddress(own); err == nil && p.Addr().Is6() {
			return addr, nil
		}
	}
	return addr, kvs.Permanent(fmt.Errorf("ip_addresses: %s is the IPv6 address %s: in VRF table %d the interface needs another IPv6 address that is no reference",
		text, addr, m.Vrf))
}
