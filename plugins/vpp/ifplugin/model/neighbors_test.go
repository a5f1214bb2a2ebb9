package model_test

import (
	"net/netip"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func TestLosesNeighbor(t *testing.T) {
	t.Parallel()
	type iface = interfaces.Interface
	with := func(addrs ...string) *iface { return &iface{Enabled: true, IpAddresses: addrs} }
	for what, c := range map[string]struct {
		before, after *iface
		addr          string
		want          bool
	}{
		"no change":             {with("10.4.0.1/24"), with("10.4.0.1/24"), "10.4.0.9", false},
		"another address":       {with("10.4.0.1/24"), with("10.4.0.2/24"), "10.4.0.9", true},
		"another prefix length": {with("10.4.0.1/24"), with("10.4.0.1/16"), "10.4.0.9", true},
		"not covered":           {with("10.4.0.1/24"), with("10.4.0.2/24"), "10.5.0.9", false},
		"added":                 {with("10.4.0.1/24"), with("10.4.0.2/24", "10.4.0.1/24"), "10.4.0.9", false},
		"one of two":            {with("10.4.0.1/24", "10.4.0.2/24"), with("10.4.0.1/24"), "10.4.0.9", true},
		"another spelling":      {with("2001:db8:0::1/64"), with("2001:DB8::1/64"), "2001:db8::9", false},
		"of the other version":  {with("::/0"), with(), "10.4.0.9", false},
		"a reference":           {with("alloc:net"), with(), "10.4.0.9", false},
		"disabled":              {with(), &iface{}, "10.4.0.9", true},
		"enabled":               {&iface{}, with(), "10.4.0.9", false},
		"DHCP ends":             {&iface{SetDhcpClient: true}, &iface{}, "10.4.0.9", true},
		"DHCP ends, IPv6":       {&iface{SetDhcpClient: true}, &iface{}, "2001:db8::9", false},
		"autoconfiguration ends": {
			&iface{Ip6Nd: &interfaces.Interface_IP6ND{AddressAutoconfig: true}}, &iface{}, "2001:db8::9", true,
		},
	} {
		if got := model.LosesNeighbor(c.before, c.after, netip.MustParseAddr(c.addr)); got != c.want {
			t.Errorf("%s: got %v", what, got)
		}
	}
}
