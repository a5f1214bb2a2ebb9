package descriptor

import (
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
	if err := d.configure(p, v, k, true); err != nil {
		return none, errors.Join(err, k.release(context.WithoutCancel(ctx), v, d.metadata(v, p.link)))
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
	return ifaceidx.LinuxIfMetadata{
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
	if err := d.configure(p, v, k, false); err != nil {
		return meta, err
	}
	return d.metadata(v, p.link), nil
}

func (d *iface) delete(ctx context.Context, _ string, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	k, err := d.kind(v)
	if err != nil {
		return err
	}
	return ignoreGone(k.release(ctx, v, meta))
}

// configure makes the link what the value says; fresh if it was not the
// agent's before. p.link.Name follows a new name.
func (d *iface) configure(p *place, v *interfaces.Interface, k linkKind, fresh bool) error {
	if err := d.rename(p, d.host(v)); err != nil {
		return err
	}
	if k, ok := k.(settler); ok {
		if err := k.applySettings(p, v); err != nil {
			return err
		}
	}
	bonded, err := p.bonded()
	if err != nil {
		return err
	}
	t := k.traits()
	if !v.GetLinkOnly() && !bonded {
		if err := setMTU(p, v, t, fresh); err != nil {
			return err
		}
		if err := setMAC(p, v); err != nil {
			return err
		}
	}
	if p.link.Up == v.GetEnabled() || t.adopted && fresh && !v.GetEnabled() {
		return nil
	}
	return p.SetUp(p.link.Index, v.GetEnabled())
}

// bonded reports whether the link is a port of a bond, which is in charge of its MTU and
// its MAC address.
func (p *place) bonded() (bool, error) {
	if p.link.Master == 0 {
		return false, nil
	}
	master, err := p.LinkByIndex(p.link.Master)
	return master.Kind == netlinkapi.KindBond, ignoreGone(err)
}

func (d *iface) rename(p *place, host string) error {
	if p.link.Name == host {
		return nil
	}
	err := p.whileDown(func() error { return p.Rename(p.link.Index, host) })
	if errors.Is(err, netlinkapi.ErrExists) {
		return fmt.Errorf("name %q is taken by another link in the namespace: %w", host, err)
	}
	if err == nil {
		p.link.Name = host
	}
	return err
}

func setMTU(p *place, v *interfaces.Interface, t traits, fresh bool) error {
	mtu := int(v.GetMtu())
	if mtu == 0 && !fresh && !(t.adopted && t.mtu == 0) {
		mtu = t.mtu
	}
	if mtu == 0 || mtu == p.link.MTU {
		return nil
	}
	return p.SetMTU(p.link.Index, mtu)
}

func setMAC(p *place, v *interfaces.Interface) error {
	if sameMAC(p.link.MAC.String(), v.GetPhysAddress()) {
		return nil
	}
	mac, err := net.ParseMAC(v.GetPhysAddress())
	if err != nil {
		return invalid("phys_address", "%w", err)
	}
	return p.whileDown(func() error { return p.SetMAC(p.link.Index, mac) })
}

// whileDown runs a change that some kernels and drivers refuse for a link that
// is up: if so, the link is set down for it, and gets back the routes and IPv6
// addresses that the kernel drops of a link that goes down.
func (p *place) whileDown(change func() error) error {
	err := change()
	if !errors.Is(err, netlinkapi.ErrBusy) {
		return err
	}
	addrs, err := p.Addresses()
	if err != nil {
		return err
	}
	routes, err := p.Routes()
	if err != nil {
		return err
	}
	if err := p.SetUp(p.link.Index, false); err != nil {
		return err
	}
	err = change()
	undo := &place{netlinkapi.Unchecked(p.Handle), p.link}
	return errors.Join(err, undo.SetUp(p.link.Index, true), undo.restore(addrs, routes))
}

// restore brings back addresses and then routes, those without a gateway
// first.
func (p *place) restore(addrs []netlinkapi.Address, routes []netlinkapi.Route) error {
	var errs []error
	for _, a := range addrs {
		if a.Link == p.link.Index && a.Prefix.Addr().Is6() && a.Scope != netlinkapi.ScopeLink && !foreignLifetime(a) {
			errs = append(errs, ignoreExists(p.AddAddress(a)))
		}
	}
	for _, withGateway := range []bool{false, true} {
		for _, r := range routes {
			if r.Uses(p.link.Index) && r.Protocol != netlinkapi.ProtocolKernel && r.Gateway.IsValid() == withGateway {
				errs = append(errs, ignoreExists(p.AddRoute(r)))
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
