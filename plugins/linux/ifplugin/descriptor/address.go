package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// An address belongs to an interface; the value is the part of the interface
// that matters for it, the address is in the key. With source "existing" nothing
// is done: the value exists once another process has assigned the address.

// AddressName is the name of the descriptor of addresses.
const AddressName = "linux-interface-address"

// Labels of the dependencies of an address.
const (
	assignedToVrfDependency  = "interface-assigned-to-vrf"
	assignedByHostDependency = "address-assigned-to-interface"
)

type address struct{ Deps }

// NewAddress returns the descriptor linux-interface-address.
func NewAddress(deps Deps) *api.KVDescriptor {
	d := address{deps}
	return api.Adapt(&api.Descriptor[*interfaces.Interface, any]{
		Name:       AddressName,
		Southbound: nsmodel.Southbound,
		KeySelector: func(key string) bool {
			_, _, _, ok := ifmodel.ParseAddressKey(key)
			return ok
		},
		ValueComparator: func(_ string, a, b *interfaces.Interface) bool {
			return samePart(a, b) && lifetimeOf(a) == lifetimeOf(b)
		},
		UpdateWithRecreate: func(_ string, a, b *interfaces.Interface, _ any) bool { return !samePart(a, b) },
		Dependencies:       d.dependencies,
		CreateContext:      d.create,
		UpdateContext: func(ctx context.Context, key string, _, v *interfaces.Interface, _ any) (any, error) {
			return nil, d.set(ctx, key, v)
		},
		DeleteContext:        d.delete,
		RetrieveValueContext: d.retrieveValue,
	})
}

// samePart compares what of the base a derived value depends on; the name of
// the link in the kernel is not part of it, because a link keeps its addresses
// under a new name.
func samePart(a, b *interfaces.Interface) bool {
	return a.GetName() == b.GetName() && a.GetType() == b.GetType() && a.GetLinkOnly() == b.GetLinkOnly() &&
		a.GetVrfMasterInterface() == b.GetVrfMasterInterface()
}

func (d address) dependencies(key string, v *interfaces.Interface) []api.Dependency {
	name, addr, source, _ := ifmodel.ParseAddressKey(key)
	var deps []api.Dependency
	if vrf := v.GetVrfMasterInterface(); vrf != "" {
		deps = append(deps, api.Dependency{Label: assignedToVrfDependency, Key: ifmodel.VrfKey.Key(name, vrf)})
	}
	if source == netalloc.IPAddressSource_EXISTING {
		deps = append(deps, api.Dependency{Label: assignedByHostDependency, Key: ifmodel.HostAddressKeyFor(v.GetHostIfName(), addr)})
	}
	return append(deps, netallocmodel.Dependencies("", addr, name)...)
}

// parse returns the address; ok is false if there is nothing to do for it.
func (d address) parse(key string) (name string, prefix netip.Prefix, ok bool, err error) {
	name, text, source, ok := ifmodel.ParseAddressKey(key)
	if !ok || source == netalloc.IPAddressSource_EXISTING {
		return name, prefix, false, nil
	}
	if netallocmodel.IsRef(text) {
		if prefix, ok = d.Allocated.Lookup(text, name); !ok {
			return name, prefix, false, fmt.Errorf("%s is not allocated", text)
		}
		return name, prefix, true, nil
	}
	if prefix, err = netallocmodel.ParseAddress(text); err != nil {
		return name, prefix, false, api.Permanent(fmt.Errorf("address %w", err))
	}
	return name, prefix, true, nil
}

func (d address) create(ctx context.Context, key string, v *interfaces.Interface) (any, error) {
	if at, expired := d.Lifetimes.takeExpired(key); expired {
		return nil, api.Permanent(fmt.Errorf("the lifetime of the address ended at %s; change the configuration of the interface, or synchronise, to assign it again",
			at.Format(time.RFC3339)))
	}
	return nil, d.set(ctx, key, v)
}

// set assigns the address, or changes its lifetime if it is there.
func (d address) set(ctx context.Context, key string, v *interfaces.Interface) error {
	name, prefix, ok, err := d.parse(key)
	if err != nil || !ok {
		return err
	}
	p, err := ifaceidx.Find(ctx, d.Index, d.Namespaces, name)
	if err != nil {
		return err
	}
	defer closeHandle(p)
	a := kernelAddress(p, prefix)
	limits := lifetimeOf(v)
	a.Valid, a.Preferred, a.Agent = limits.valid, limits.preferred, true
	if err = p.AddAddress(ctx, a); errors.Is(err, netlinkapi.ErrExists) {
		err = p.SetAddress(ctx, a)
		if err == nil && prefix.Addr().Is6() && a.Valid != 0 {
			// If the address had no lifetime, Linux 6.18 gives the route to its network an end in the past, and
			// deletes the route soon after. The second request sets it right.
			err = p.SetAddress(ctx, a)
		}
	}
	if err == nil {
		d.Lifetimes.begin(key, limits.valid)
	}
	return err
}

// kernelAddress fills in the scope as ip-address(8) chooses it.
func kernelAddress(p *ifaceidx.Place, prefix netip.Prefix) netlinkapi.Address {
	a := netlinkapi.Address{Link: p.Link.Index, Prefix: prefix}
	if prefix.Addr().Is4() && prefix.Addr().IsLoopback() {
		a.Scope = netlinkapi.ScopeHost
	}
	return a
}

func (d address) delete(ctx context.Context, key string, v *interfaces.Interface, _ any) error {
	name, prefix, ok, err := d.parse(key)
	if err != nil || !ok {
		return err
	}
	p, err := ifaceidx.Find(ctx, d.Index, d.Namespaces, name)
	if err != nil {
		return ignoreGone(err)
	}
	defer closeHandle(p)
	d.Lifetimes.begin(key, 0)
	a := kernelAddress(p, prefix)
	a.Agent = true
	if prefix.Addr().Is6() && lifetimeOf(v).valid != 0 {
		// The kernel keeps the route to the network of an address with a lifetime until that ends. The
		// address gets an unlimited lifetime first.
		if err := p.SetAddress(ctx, a); err != nil {
			return ignoreGone(err)
		}
	}
	return ignoreGone(p.DeleteAddress(ctx, a))
}

func (d address) retrieveValue(ctx context.Context, key string, last *interfaces.Interface, _ any) (*interfaces.Interface, any, bool, error) {
	name, prefix, ok, err := d.parse(key)
	if err != nil || !ok {
		return last, nil, err == nil, nil
	}
	p, err := ifaceidx.Find(ctx, d.Index, d.Namespaces, name)
	if err != nil {
		return nil, nil, false, ignoreGone(err)
	}
	defer closeHandle(p)
	addrs, err := p.Addresses(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	for _, a := range addrs {
		if a.Link == p.Link.Index && a.Prefix == prefix {
			v := proto.CloneOf(last)
			v.AddressLifetimes = lifetimes(addressInKey(key), a, last.GetAddressLifetimes())
			return v, nil, true, nil
		}
	}
	return nil, nil, false, nil
}
