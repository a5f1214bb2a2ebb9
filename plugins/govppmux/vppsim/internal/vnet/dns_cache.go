package vnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/dns"
)

// dnsCache is the DNS cache (src/plugins/dns/dns.c). No request reports its state.
type dnsCache struct {
	*VNet
	enabled bool
	servers []netip.Addr
}

func newDnsCache(n *VNet) feature {
	n.dns = &dnsCache{VNet: n}
	return n.dns
}

func (d *dnsCache) register(server *wire.Server) {
	handle[dns.DNSEnableDisableReply](server, func(req *dns.DNSEnableDisable) retval {
		if req.Enable != 0 && len(d.servers) == 0 {
			return api.NO_NAME_SERVERS
		}
		d.enabled = req.Enable != 0
		return ok
	})
	handle[dns.DNSNameServerAddDelReply](server, func(req *dns.DNSNameServerAddDel) retval {
		addr := netip.AddrFrom4([4]byte(req.ServerAddress))
		if req.IsIP6 != 0 {
			addr = netip.AddrFrom16([16]byte(req.ServerAddress))
		}
		at := slices.Index(d.servers, addr)
		switch {
		case req.IsAdd == 0 && at < 0:
			return api.NAME_SERVER_NOT_FOUND
		case req.IsAdd == 0:
			d.servers = slices.Delete(d.servers, at, at+1)
		case at < 0:
			d.servers = append(d.servers, addr)
		}
		return ok
	})
}

func (d *dnsCache) reset() { d.enabled, d.servers = false, nil }

func (d *dnsCache) dump(b *strings.Builder) {
	var lines []string
	if d.enabled {
		lines = append(lines, "dns cache\n")
	}
	for _, s := range d.servers {
		lines = append(lines, fmt.Sprintf("dns server %s\n", s))
	}
	dumpSorted(b, lines)
}
