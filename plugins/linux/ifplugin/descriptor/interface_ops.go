package descriptor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

func (d *iface) create(ctx context.Context, _ string, v *interfaces.Interface) (ifaceidx.LinuxIfMetadata, error) {
	none := ifaceidx.LinuxIfMetadata{}
	k, err := d.kind(v)
	if err != nil {
		return none, err
	}
	p, err := k.acquire(ctx, v)
	if err != nil {
		return none, err
	}
	defer closePlace(p)
	if err := d.configure(ctx, p, v, k, true); err != nil {
		return none, errors.Join(err, d.release(context.WithoutCancel(ctx), k, v, d.metadata(v, p.link)))
	}
	if v.GetType() == interfaces.Interface_EXISTING {
		return d.metadata(v, p.link), api.ErrFound
	}
	return d.metadata(v, p.link), nil
}

func (d *iface) kind(v *interfaces.Interface) (linkKind, error) {
	if k := d.kinds[v.GetType()]; k != nil {
		return k, nil
	}
	return nil, invalid("type", "%s is not known", v.GetType())
}

func (d *iface) metadata(v *interfaces.Interface, link netlinkapi.Link) ifaceidx.LinuxIfMetadata {
	parent, overhead := d.mtuParent(v)
	return ifaceidx.LinuxIfMetadata{
		Parent:       parent,
		MTU:          int(v.GetMtu()),
		Overhead:     overhead,
		LinkOnly:     v.GetLinkOnly(),
		LinuxIfIndex: link.Index,
		VPPTapName:   v.GetTap().GetVppTapIfName(),
		Namespace:    v.GetNamespace(),
		HostIfName:   link.Name,
		VrfMasterIf:  v.GetVrfMasterInterface(),
		VrfDevRT:     v.GetVrfDev().GetRoutingTable(),
		MasterIf:     v.GetMasterInterface(),
		Existing:     v.GetType() == interfaces.Interface_EXISTING,
	}
}

func (d *iface) update(ctx context.Context, _ string, _, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) (ifaceidx.LinuxIfMetadata, error) {
	k, err := d.kind(v)
	if err != nil {
		return meta, err
	}
	p, err := d.locate(ctx, meta)
	if err != nil {
		return meta, err
	}
	defer closePlace(p)
	if err := d.configure(ctx, p, v, k, false); err != nil {
		return meta, err
	}
	return d.metadata(v, p.link), nil
}

func (d *iface) delete(ctx context.Context, _ string, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	k, err := d.kind(v)
	if err != nil {
		return err
	}
	return d.release(ctx, k, v, meta)
}

func (d *iface) release(ctx context.Context, k linkKind, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	if err := ignoreGone(k.release(ctx, v, meta)); err != nil {
		return err
	}
	d.forget(v.GetName())
	return nil
}

// configure makes the link what the value says; fresh if it was not the
// agent's before. p.link.Name follows a new name.
func (d *iface) configure(ctx context.Context, p *place, v *interfaces.Interface, k linkKind, fresh bool) error {
	if err := d.rename(ctx, p, d.host(v)); err != nil {
		return err
	}
	if k, ok := k.(settler); ok {
		if err := k.applySettings(ctx, p, v); err != nil {
			return err
		}
	}
	bonded, err := p.bonded(ctx)
	if err != nil {
		return err
	}
	if !v.GetLinkOnly() && !bonded {
		if err := d.setMTU(ctx, p, v, k, fresh); err != nil {
			return err
		}
		if err := d.setMAC(ctx, p, v, fresh); err != nil {
			return err
		}
	}
	return d.setUp(ctx, p, v, k.traits(), fresh)
}

// setUp sets the link up or down. A link of another process is down only if it was before.
func (d *iface) setUp(ctx context.Context, p *place, v *interfaces.Interface, t traits, fresh bool) error {
	up := v.GetEnabled()
	if t.adopted {
		former, known := d.was(p, v.GetName(), propertyUp)
		if !up && !known {
			return nil
		}
		up = up || former != 0
	}
	if p.link.Up == up {
		return nil
	}
	if t.adopted && up {
		d.remember(p, v.GetName(), propertyUp, 0, 1, fresh)
	}
	return p.SetUp(ctx, p.link.Index, up)
}

// bonded reports whether the link is a port of a bond, which is in charge of its MTU and
// its MAC address.
func (p *place) bonded(ctx context.Context) (bool, error) {
	if p.link.Master == 0 {
		return false, nil
	}
	master, err := p.LinkByIndex(ctx, p.link.Master)
	return master.Kind == netlinkapi.KindBond, ignoreGone(err)
}

func (d *iface) rename(ctx context.Context, p *place, host string) error {
	if p.link.Name == host {
		return nil
	}
	err := p.whileDown(ctx, func() error { return p.Rename(ctx, p.link.Index, host) })
	if errors.Is(err, netlinkapi.ErrExists) {
		return fmt.Errorf("name %q is taken by another link in the namespace: %w", host, err)
	}
	if err == nil {
		p.link.Name = host
	}
	return err
}

func (d *iface) setMTU(ctx context.Context, p *place, v *interfaces.Interface, k linkKind, fresh bool) error {
	mtu := int(v.GetMtu())
	if mtu != 0 && mtu != p.link.MTU {
		d.remember(p, v.GetName(), propertyMTU, p.link.MTU, mtu, fresh)
	}
	if mtu == 0 {
		var err error
		if mtu, err = d.initialMTU(ctx, p, v, k.traits(), fresh); err != nil {
			return err
		}
	}
	if mtu != 0 && mtu != p.link.MTU {
		if err := p.SetMTU(ctx, p.link.Index, mtu); err != nil {
			return err
		}
		if err := d.followMTU(ctx, p, v.GetName(), mtu); err != nil {
			return err
		}
	}
	if v.GetMtu() == 0 {
		d.Former.forget(propertyMTU.of(v.GetName()))
	}
	return nil
}

// initialMTU returns the MTU of a link whose value has none; 0: it stays as it is.
func (d *iface) initialMTU(ctx context.Context, p *place, v *interfaces.Interface, t traits, fresh bool) (int, error) {
	if parent, overhead := d.mtuParent(v); parent != "" && !fresh {
		below, err := ifaceidx.Find(ctx, d.Index, d.Namespaces, parent)
		if err != nil {
			return 0, ignoreGone(err)
		}
		defer closeHandle(below)
		return below.Link.MTU - overhead, nil
	}
	if former, known := d.was(p, v.GetName(), propertyMTU); known {
		return former, nil
	}
	if fresh {
		return 0, nil
	}
	return t.mtu, nil
}

// mtuParent returns the logical name of the link that the MTU of an interface depends on, and how much
// smaller it is; empty if there is none.
func (d *iface) mtuParent(v *interfaces.Interface) (parent string, overhead int) {
	k, ok := d.kinds[v.GetType()].(declared)
	if !ok || k.overhead == nil || k.parent(v) == "" {
		return "", 0
	}
	return k.parent(v), k.overhead(v)
}

// followMTU gives the links that are on a link, on its ports, or on its bridge, the MTU that follows
// from its new one. The kernel makes theirs smaller, but not larger again.
func (d Deps) followMTU(ctx context.Context, p *place, name string, mtu int) error {
	errs := []error{d.followBridge(ctx, p.Handle, name, p.link.Master)}
	for _, child := range d.Index.OnParent(name) {
		if meta, ok := d.Index.Get(child); ok {
			if err := d.setMTUOn(ctx, child, meta, mtu); ignoreGone(err) != nil {
				errs = append(errs, fmt.Errorf("MTU of interface %q, which is on this one: %w", child, err))
			}
		}
	}
	if p.link.Kind != netlinkapi.KindBond {
		return errors.Join(errs...)
	}
	links, err := p.Links(ctx)
	errs = append(errs, err)
	meta, _ := d.Index.Get(name)
	for _, l := range links { // the ports have the MTU of the bond
		if l.Master != p.link.Index {
			continue
		}
		for _, port := range d.Index.AtLink(ifaceidx.LinkIn(meta.Namespace, l.Index)) {
			errs = append(errs, d.followMTU(ctx, &place{p.Handle, l}, port, mtu))
		}
	}
	return errors.Join(errs...)
}

// followBridge adapts the links on a bridge, of which an interface is or was a port, to the MTU of the
// bridge: the kernel gives a bridge the smallest MTU of its ports.
func (d Deps) followBridge(ctx context.Context, h netlinkapi.Handle, port string, master int) error {
	meta, ok := d.Index.Get(port)
	if master == 0 || !ok {
		return nil
	}
	bridges := d.Index.AtLink(ifaceidx.LinkIn(meta.Namespace, master))
	if len(bridges) == 0 || len(d.Index.OnParent(bridges[0])) == 0 {
		return nil
	}
	link, err := h.LinkByIndex(ctx, master)
	if err != nil || link.Kind != netlinkapi.KindBridge {
		return ignoreGone(err)
	}
	return d.followMTU(ctx, &place{h, link}, bridges[0], link.MTU)
}

// setMTUOn gives an interface that is on another one the MTU that follows from its parent.
func (d Deps) setMTUOn(ctx context.Context, name string, meta ifaceidx.LinuxIfMetadata, parent int) error {
	p, err := d.locate(ctx, meta)
	if err != nil {
		return err
	}
	defer closePlace(p)
	bonded, err := p.bonded(ctx)
	if err != nil {
		return err
	}
	mtu := p.link.MTU
	if !meta.LinkOnly && !bonded {
		mtu = min(cmp.Or(meta.MTU, parent), parent-meta.Overhead)
	}
	if mtu != p.link.MTU {
		if err := p.SetMTU(ctx, p.link.Index, mtu); err != nil {
			return err
		}
	}
	return d.followMTU(ctx, p, name, mtu) // the kernel may have changed the MTU already
}

func (d *iface) setMAC(ctx context.Context, p *place, v *interfaces.Interface, fresh bool) error {
	if v.GetPhysAddress() == "" {
		former, known := d.was(p, v.GetName(), propertyMAC)
		if known && former != macNumber(p.link.MAC) {
			if err := p.whileDown(ctx, func() error { return p.SetMAC(ctx, p.link.Index, macOf(former)) }); err != nil {
				return err
			}
		}
		d.Former.forget(propertyMAC.of(v.GetName()))
		return nil
	}
	mac, err := net.ParseMAC(v.GetPhysAddress())
	if err != nil {
		return invalid("phys_address", "%w", err)
	}
	if bytes.Equal(mac, p.link.MAC) {
		return nil
	}
	d.remember(p, v.GetName(), propertyMAC, macNumber(p.link.MAC), macNumber(mac), fresh)
	return p.whileDown(ctx, func() error { return p.SetMAC(ctx, p.link.Index, mac) })
}

// whileDown runs a change that some kernels and drivers refuse for a link that
// is up: if so, the link is set down for it, and gets back the routes and IPv6
// addresses that the kernel drops of a link that goes down.
func (p *place) whileDown(ctx context.Context, change func() error) error {
	err := change()
	if !errors.Is(err, netlinkapi.ErrBusy) {
		return err
	}
	addrs, err := p.Addresses(ctx)
	if err != nil {
		return err
	}
	routes, err := p.Routes(ctx)
	if err != nil {
		return err
	}
	if err := p.SetUp(ctx, p.link.Index, false); err != nil {
		return err
	}
	err = change()
	undo := context.WithoutCancel(ctx)
	return errors.Join(err, p.SetUp(undo, p.link.Index, true), p.restore(undo, addrs, routes))
}

// restore brings back addresses and then routes, those without a gateway
// first.
func (p *place) restore(ctx context.Context, addrs []netlinkapi.Address, routes []netlinkapi.Route) error {
	var errs []error
	for _, a := range addrs {
		if a.Link == p.link.Index && a.Prefix.Addr().Is6() && a.Scope != netlinkapi.ScopeLink && !foreignLifetime(a) {
			errs = append(errs, ignoreExists(p.AddAddress(ctx, a)))
		}
	}
	for _, withGateway := range []bool{false, true} {
		for _, r := range routes {
			if r.Uses(p.link.Index) && r.Protocol != netlinkapi.ProtocolKernel && r.Gateway.IsValid() == withGateway {
				errs = append(errs, ignoreExists(p.AddRoute(ctx, r)))
			}
		}
	}
	return errors.Join(errs...)
}

func ignoreExists(err error) error {
	if errors.Is(err, netlinkapi.ErrExists) {
		return nil
	}
	return err
}
