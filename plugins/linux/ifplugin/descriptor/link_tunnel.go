package descriptor

import (
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// GRE, IPIP and SIT are tunnels of packets over IPv4. Their packets are in the namespace
// that they were made in: the parent's, or their own if they have no parent. The fallback
// devices that their modules make in each namespace (gre0, tunl0, sit0) are not the agent's.

func tunnelSpecs() []spec {
	return []spec{
		tunnelSpec(interfaces.Interface_GRE,
			func(t netlinkapi.Tunnel, key uint32) netlinkapi.LinkParams {
				return netlinkapi.GRE{Tunnel: t, Key: key}
			},
			func(p netlinkapi.LinkParams) (netlinkapi.Tunnel, uint32, bool) {
				g, ok := p.(netlinkapi.GRE)
				return g.Tunnel, g.Key, ok
			}),
		tunnelSpec(interfaces.Interface_IPIP,
			func(t netlinkapi.Tunnel, _ uint32) netlinkapi.LinkParams { return netlinkapi.IPIP{Tunnel: t} },
			func(p netlinkapi.LinkParams) (netlinkapi.Tunnel, uint32, bool) {
				t, ok := p.(netlinkapi.IPIP)
				return t.Tunnel, 0, ok
			}),
		tunnelSpec(interfaces.Interface_SIT,
			func(t netlinkapi.Tunnel, _ uint32) netlinkapi.LinkParams { return netlinkapi.SIT{Tunnel: t} },
			func(p netlinkapi.LinkParams) (netlinkapi.Tunnel, uint32, bool) {
				t, ok := p.(netlinkapi.SIT)
				return t.Tunnel, 0, ok
			}),
	}
}

// tunnelSpec declares a type by how parameters are put together and taken apart.
func tunnelSpec(typ interfaces.Interface_Type, join func(netlinkapi.Tunnel, uint32) netlinkapi.LinkParams,
	split func(netlinkapi.LinkParams) (netlinkapi.Tunnel, uint32, bool)) spec {
	return spec{
		typ:      typ,
		traits:   traits{packets: true},
		field:    "tunnel",
		required: true,
		parent:   func(v *interfaces.Interface) string { return v.GetTunnel().GetParentInterface() },
		check:    checkTunnel,
		params: func(v *interfaces.Interface) netlinkapi.LinkParams {
			t := v.GetTunnel()
			return join(netlinkapi.Tunnel{Local: parseAddress(t.GetLocal()), Remote: parseAddress(t.GetRemote()), TTL: uint8(t.GetTtl())}, t.GetKey())
		},
		fill: func(v *interfaces.Interface, p netlinkapi.LinkParams, parent string) bool {
			t, key, ok := split(p)
			v.Link = &interfaces.Interface_Tunnel{Tunnel: &interfaces.TunnelLink{
				Local: addressText(t.Local), Remote: addressText(t.Remote), Ttl: uint32(t.TTL), ParentInterface: parent, Key: key,
			}}
			return ok
		},
	}
}

func checkTunnel(v *interfaces.Interface) error {
	t := v.GetTunnel()
	var errs []error
	if a := parseAddress(t.GetLocal()); !a.Is4() || a.IsUnspecified() || a.IsMulticast() {
		errs = append(errs, invalid("tunnel.local", "%q; expected an IPv4 address of this host", t.GetLocal()))
	}
	if a := parseAddress(t.GetRemote()); a.IsUnspecified() || a.IsMulticast() {
		errs = append(errs, invalid("tunnel.remote", "%q; expected the IPv4 address of another host", t.GetRemote()))
	}
	if t.GetKey() != 0 && v.GetType() != interfaces.Interface_GRE {
		errs = append(errs, invalid("tunnel.key", "not allowed for type %s; expected GRE", v.GetType()))
	}
	return errors.Join(errs...)
}
