package descriptor

import (
	"maps"
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
	v.LinkOnly = want.GetLinkOnly()
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
		}
	}
}

func usual(name, address string) string {
	return ifmodel.AddressKeyFor(name, address, netalloc.IPAddressSource_STATIC)
}

// automatic reports whether the kernel assigns the address by itself: IPv6
// link-local addresses, and those of a loopback.
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

// existing finds the links of wanted EXISTING interfaces, by name. They exist
// as values while the link is there and running, as their dependency says.
func (r *retrieval) existing() []ifaceKV {
	var kvs []ifaceKV
	for _, name := range slices.Sorted(maps.Keys(r.wanted)) {
		want := r.wanted[name]
		if want.GetType() != interfaces.Interface_EXISTING {
			continue
		}
		for _, s := range r.spaces {
			at := slices.IndexFunc(s.links, func(l netlinkapi.Link) bool { return l.Name == hostName(want) })
			if !s.own || at < 0 || !s.links[at].Up || !s.links[at].Running {
				continue
			}
			l := s.links[at]
			v := &interfaces.Interface{
				Name: name, Type: interfaces.Interface_EXISTING, HostIfName: l.Name, Enabled: l.Up,
				Mtu: uint32(l.MTU), PhysAddress: l.MAC.String(),
				VrfMasterInterface: r.master(s, l, func(kind string) bool { return kind == netlinkapi.KindVRF }),
				MasterInterface:    r.master(s, l, netlinkapi.TakesPorts),
			}
			r.addAdopted(v, want)
			r.addAddresses(s, l, v, want)
			s.addSysctls(l, v)
			if want.GetBridgeVlans() != nil { // else they are not the agent's
				s.addVlans(l, v, want)
			}
			kvs = append(kvs, ifaceKV{
				Key: ifmodel.InterfaceModel.KeyFor(name), Value: v, Metadata: r.metadata(v, l), Origin: api.FromNB,
			})
		}
	}
	return kvs
}
