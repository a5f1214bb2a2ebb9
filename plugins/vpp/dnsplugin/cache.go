package dnsplugin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/dns"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	dnsproto "github.com/tenuto-dev/tenuto/proto/ligato/vpp/dns"
)

// CacheName is the name of the descriptor.
const CacheName = "vpp-dns-cache"

var caches = session.Require("DNS cache", "dns", &dns.DNSEnableDisable{}, &dns.DNSEnableDisableReply{},
	&dns.DNSNameServerAddDel{}, &dns.DNSNameServerAddDelReply{})

// servers are the name servers that are asked, sorted.
type servers []netip.Addr

// NewCache describes the DNS cache. VPP has no request that reports its name servers, and the
// command that shows them is wrong about IPv6 servers, so the value cannot be read: another
// agent adds the servers again, which VPP takes as they are. The cache has to be enabled after
// its first server was added.
func NewCache(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewSingleton(vpp, item.Singleton[*dnsproto.DNSCache, servers]{
		Name: CacheName, Model: DNSCacheModel,
		Resolve: func(r *item.Resolver, v *dnsproto.DNSCache) (all servers) {
			for i, text := range v.GetUpstreamDnsServers() {
				all = append(all, ipconv.FromAddress(r.Host(fmt.Sprintf("upstream_dns_servers[%d]", i), text)))
			}
			slices.SortFunc(all, netip.Addr.Compare)
			return slices.Compact(all)
		},
		Set: func(ctx context.Context, old, all *servers) error {
			if err := caches.Check(vpp); err != nil {
				return err
			}
			switch {
			case all == nil:
				return disable(ctx, vpp, *old)
			case old == nil:
				if err := enable(ctx, vpp, *all); err != nil {
					return errors.Join(err, disable(ctx, vpp, *all)) // leave nothing half-made
				}
				return nil
			default:
				return change(ctx, vpp, *old, *all)
			}
		},
	})
}

func enable(ctx context.Context, vpp *session.VPP, all servers) error {
	for _, s := range all {
		if err := server(ctx, vpp, s, true); err != nil {
			return err
		}
	}
	return vpp.Call(ctx, &dns.DNSEnableDisable{Enable: 1}, &dns.DNSEnableDisableReply{})
}

func disable(ctx context.Context, vpp *session.VPP, all servers) error {
	if err := vpp.Call(ctx, &dns.DNSEnableDisable{}, &dns.DNSEnableDisableReply{}); err != nil {
		return err
	}
	return change(ctx, vpp, all, nil)
}

// change adds servers before it removes others, so that there is always one to ask.
func change(ctx context.Context, vpp *session.VPP, old, all servers) error {
	for _, s := range all {
		if !slices.Contains(old, s) {
			if err := server(ctx, vpp, s, true); err != nil {
				return err
			}
		}
	}
	for _, s := range old {
		if !slices.Contains(all, s) {
			if err := server(ctx, vpp, s, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func server(ctx context.Context, vpp *session.VPP, s netip.Addr, add bool) error {
	req := &dns.DNSNameServerAddDel{ServerAddress: make([]byte, 16)}
	copy(req.ServerAddress, s.AsSlice())
	if s.Is6() {
		req.IsIP6 = 1
	}
	if add {
		req.IsAdd = 1
	}
	err := vpp.Call(ctx, req, &dns.DNSNameServerAddDelReply{})
	if !add && session.Gone(err, api.NAME_SERVER_NOT_FOUND) {
		return nil
	}
	return err
}
