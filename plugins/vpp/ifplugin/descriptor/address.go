package descriptor

import (
	"fmt"
	"net/netip"

	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// An address of an interface is derived from the interface; the key tells all.
// VPP refuses to change the VRF table of an interface with addresses, so every
// address waits for the membership in a table and goes before it does. There is
// no Retrieve: addresses are derived from the retrieved interface too.

// addressCalls is what addresses need of VPP.
type addressCalls interface {
	AddAddress(swIfIndex uint32, addr netip.Prefix) error
	RemoveAddress(swIfIndex uint32, addr netip.Prefix) error
}

type addressDescriptor struct {
	vpp addressCalls
	ifs index
}

// NewAddress describes the addresses of interfaces.
func NewAddress(vpp addressCalls, ifs index) *kvs.KVDescriptor {
	d := &addressDescriptor{vpp, ifs}
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
		Name:         AddressName,
		Southbound:   Southbound,
		KeySelector:  isStaticAddress,
		Dependencies: d.dependencies,
		Create:       d.create,
		Delete:       d.remove,
	})
}

// isStaticAddress: addresses from DHCP are given by VPP itself.
func isStaticAddress(key string) bool {
	_, _, source, ok := model.ParseAddressKey(key)
	return ok && source == netalloc.IPAddressSource_STATIC
}

func (d *addressDescriptor) dependencies(key string, _ *emptypb.Empty) []kvs.Dependency {
	iface, _, _, ok := model.ParseAddressKey(key)
	if !ok {
		return nil
	}
	return []kvs.Dependency{{
		Label: "interface-assigned-to-vrf-table",
		AnyOf: kvs.AnyOfDependency{KeyPrefixes: []string{model.VrfKey.Prefix(iface)}},
	}}
}

func (d *addressDescriptor) create(key string, _ *emptypb.Empty) (kvs.Metadata, error) {
	idx, addr, err := d.parse(key)
	if err != nil {
		return nil, err
	}
	return nil, d.vpp.AddAddress(idx, addr)
}

func (d *addressDescriptor) remove(key string, _ *emptypb.Empty, _ kvs.Metadata) error {
	idx, addr, err := d.parse(key)
	if err != nil {
		return err
	}
	return d.vpp.RemoveAddress(idx, addr)
}

func (d *addressDescriptor) parse(key string) (idx uint32, addr netip.Prefix, err error) {
	iface, text, _, ok := model.ParseAddressKey(key)
	if !ok {
		return 0, addr, fmt.Errorf("%q is not the key of an address", key)
	}
	if addr, err = ipconv.ParsePrefix(text); err != nil {
		return 0, addr, err
	}
	idx, err = swIfIndex(d.ifs, iface)
	return idx, addr, err
}
