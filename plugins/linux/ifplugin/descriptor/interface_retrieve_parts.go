package descriptor

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// addAddresses fills in the addresses of a link. Where another process is in
// charge of them, these are the wanted ones that are there. Addresses that the
// kernel assigns by itself count only if they are wanted.
func (r *retrieval) addAddresses(s *space, l netlinkapi.Link, v, want *interfaces.Interface) {
	v.LinkOnly = r.made(v.GetName()).GetLinkOnly()
	wanted := map[string]string{}
	for _, text := range want.GetIpAddresses() {
		wanted[usual(v.GetName(), r.Allocated.Literal(text, v.GetName()))] = text
	}
	for _, a := range s.addrs[l.Index] {
		text, isWanted := wanted[usual(v.GetName(), a.Prefix.String())]
		switch {
		case isWanted:
			v.IpAddresses = append(v.IpAddresses, text)
			limited := lifetimes(text, a, lifetimesFor(want, text))
			v.AddressLifetimes = append(v.AddressLifetimes, limited...)
			if len(limited) > 0 {
				r.Lifetimes.begin(addressKey(v.GetName(), text), a.Valid)
			}
		case v.LinkOnly || automatic(a) || foreignLifetime(a):
		default:
			v.IpAddresses = append(v.IpAddresses, a.Prefix.String())
			v.AddressLifetimes = append(v.AddressLifetimes, lifetimes(a.Prefix.String(), a, nil)...)
		}
	}
}

func usual(name, address string) string {
	return ifmodel.AddressKeyFor(name, address, netalloc.IPAddressSource_STATIC)
}

// made returns the value that was made of an interface, as far as that is known, else the wanted one.
func (r *retrieval) made(name string) *interfaces.Interface {
	for _, kv := range r.expected {
		if kv.Value.GetName() == name {
			return kv.Value
		}
	}
	return nil
}

// automatic reports whether the kernel assigns the address by itself: IPv6 link-local addresses, and
// addresses of a loopback.
func automatic(a netlinkapi.Address) bool {
	ip := a.Prefix.Addr()
	return ip.Is6() && ip.IsLinkLocalUnicast() || a.Scope == netlinkapi.ScopeHost && ip.IsLoopback()
}

// foreignLifetime reports whether another program assigned the address for a time, such as a DHCP
// client, or the kernel did because of a router advertisement.
func foreignLifetime(a netlinkapi.Address) bool { return a.Valid != 0 && !a.Agent }

// bonded reports whether the link is a port of a bond.
func (r *retrieval) bonded(s *space, l netlinkapi.Link) bool {
	return slices.ContainsFunc(s.links, func(m netlinkapi.Link) bool {
		return l.Master != 0 && m.Index == l.Master && m.Kind == netlinkapi.KindBond
	})
}

// master is the logical name of the master of the link, if that is of such a kind; empty
// if it has none, or a foreign one.
func (r *retrieval) master(s *space, l netlinkapi.Link, kind func(string) bool) string {
	if l.Master == 0 {
		return ""
	}
	at := slices.IndexFunc(s.links, func(m netlinkapi.Link) bool { return m.Index == l.Master && kind(m.Kind) })
	if at < 0 {
		return ""
	}
	if name, _, ours := r.parse(s.links[at].Alias); ours {
		return name
	}
	for name, want := range r.wanted {
		if want.GetType() == interfaces.Interface_EXISTING && s.own && hostName(want) == s.links[at].Name {
			return name
		}
	}
	return ""
}

// existing finds the links of EXISTING interfaces, by name. They exist as values while the link is
// there and running, as their dependency says. A value that has had another link still has that one,
// and a link belongs to the value that has had it.
func (r *retrieval) existing() []ifaceKV {
	var kvs []ifaceKV
	type place struct {
		at   int // in kvs
		made bool
	}
	found, places := map[string]bool{}, map[int]place{}
	for _, expected := range r.expected {
		name := expected.Value.GetName()
		s, link := r.ownLink(hostName(expected.Value))
		if expected.Value.GetType() != interfaces.Interface_EXISTING || found[name] || s == nil || !link.Up || !link.Running {
			continue
		}
		found[name] = true
		kv := r.existingAt(s, link, r.wanted[name], name)
		p, taken := places[link.Index]
		if !taken {
			p.at, kvs = len(kvs), append(kvs, kv)
		} else if !p.made { // the other value is only desired: after a restart, those that are not come last
			kvs[p.at] = kv
		}
		p.made = p.made || expected.Value != r.wanted[name] || expected.Metadata.LinuxIfIndex != 0
		places[link.Index] = p
	}
	return kvs
}

// ownLink returns a link in the namespace of the agent, which was read; nil: there is none.
func (r *retrieval) ownLink(name string) (*space, netlinkapi.Link) {
	for _, s := range r.spaces {
		if i := slices.IndexFunc(s.links, func(l netlinkapi.Link) bool { return l.Name == name }); s.own && i >= 0 {
			return s, s.links[i]
		}
	}
	return nil, netlinkapi.Link{}
}

// existingAt makes a value of the link of an EXISTING interface.
func (r *retrieval) existingAt(s *space, l netlinkapi.Link, want *interfaces.Interface, name string) ifaceKV {
	v := &interfaces.Interface{
		Name: name, Type: interfaces.Interface_EXISTING, HostIfName: l.Name, Enabled: l.Up,
		Mtu: uint32(l.MTU), PhysAddress: l.MAC.String(),
		VrfMasterInterface: r.master(s, l, func(kind string) bool { return kind == netlinkapi.KindVRF }),
		MasterInterface:    r.master(s, l, netlinkapi.TakesPorts),
	}
	r.addAdopted(v, want)
	r.addAddresses(s, l, v, want)
	s.addSysctls(l, v)
	if want.GetBridgeVlans() != nil || r.made(name).GetBridgeVlans() != nil { // else they are not the agent's
		s.addVlans(l, v, want)
	}
	return ifaceKV{Key: ifmodel.InterfaceModel.KeyFor(name), Value: v, Metadata: r.found(v, l), Origin: api.FromNB}
}
