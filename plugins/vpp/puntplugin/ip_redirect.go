package puntplugin

import (
	"context"
	"fmt"
	"net/netip"

	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	puntproto "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
)

var redirects = session.Require("punt IP redirect", "",
	&ip.AddDelIPPuntRedirectV2{}, &ip.AddDelIPPuntRedirectV2Reply{}, &ip.IPPuntRedirectV2Dump{}, &ip.IPPuntRedirectV2Details{})

// redirect is where packets of a version of IP go that came from an interface.
type redirect struct {
	family family
	rx, tx interface_types.InterfaceIndex // rx may be item.NoInterface: any other
	via    netip.Addr
	other  string // of VPP alone; see ipconv.PlainPathSettings
}

// NewIPRedirect describes redirections. VPP has one per version of IP and receiving interface,
// and one for all other interfaces. It loses count of them when one is replaced, or removed
// that it does not have, and stops to redirect. None goes with its interfaces, so it must go
// before.
func NewIPRedirect(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewSet(vpp, ifs, item.Set[*puntproto.IPRedirect, redirect, redirect]{
		Name: IPRedirectName, Model: IPRedirectModel, Fields: "l3_protocol, rx_interface",
		Resolve:  resolveRedirect,
		ID:       func(e redirect) redirect { return redirect{family: e.family, rx: e.rx} },
		Belongs:  func(a, b redirect) bool { return a.tx == b.tx },
		Displace: true,
		Value: func(n *item.Names, wanted, found []redirect) *puntproto.IPRedirect {
			v := &puntproto.IPRedirect{L3Protocol: protocol(found[0].family), TxInterface: n.Interface(found[0].tx)}
			if uint32(found[0].rx) != item.NoInterface {
				v.RxInterface = n.Interface(found[0].rx)
			}
			if len(wanted) > 1 {
				v.L3Protocol = puntproto.L3Protocol_ALL
			}
			if len(found) >= len(wanted) && found[0].via == found[len(found)-1].via {
				v.NextHop = found[0].via.String()
			}
			return v
		},
		Table: item.Table[redirect]{
			Add: func(ctx context.Context, e redirect) (kvs.Metadata, error) {
				return nil, changeRedirect(ctx, vpp, e, true)
			},
			Remove: func(ctx context.Context, e redirect) error { return changeRedirect(ctx, vpp, e, false) },
			All:    func(ctx context.Context) ([]redirect, error) { return dumpRedirects(ctx, vpp) },
		},
	})
}

func resolveRedirect(r *item.Resolver, v *puntproto.IPRedirect) (all []redirect) {
	e := redirect{
		rx: interface_types.InterfaceIndex(item.NoInterface), tx: r.Interface("tx_interface", v.GetTxInterface()),
		via: ipconv.FromAddress(r.Host("next_hop", v.GetNextHop())),
	}
	if v.GetRxInterface() != "" {
		e.rx = r.Interface("rx_interface", v.GetRxInterface())
	}
	for _, e.family = range families(r, v.GetL3Protocol()) {
		all = append(all, e)
	}
	return all
}

func changeRedirect(ctx context.Context, vpp *session.VPP, e redirect, add bool) error {
	if err := redirects.Check(vpp); err != nil {
		return err
	}
	path := fib_types.FibPath{SwIfIndex: uint32(e.tx), Weight: 1, Nh: fib_types.FibPathNh{Address: ipconv.Address(e.via).Un}}
	if e.via.Is6() {
		path.Proto = fib_types.FIB_API_PATH_NH_PROTO_IP6
	}
	return vpp.Call(ctx, &ip.AddDelIPPuntRedirectV2{IsAdd: add, Punt: ip.PuntRedirectV2{
		RxSwIfIndex: e.rx, Af: e.family, NPaths: 1, Paths: []fib_types.FibPath{path},
	}}, &ip.AddDelIPPuntRedirectV2Reply{})
}

func dumpRedirects(ctx context.Context, vpp *session.VPP) (all []redirect, err error) {
	for _, f := range []family{ip_types.ADDRESS_IP4, ip_types.ADDRESS_IP6} {
		found, err := session.DumpOf[*ip.IPPuntRedirectV2Details](ctx, vpp, redirects,
			&ip.IPPuntRedirectV2Dump{Af: f, SwIfIndex: interface_types.InterfaceIndex(item.NoInterface)})
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			e := redirect{family: f, rx: d.Punt.RxSwIfIndex, tx: interface_types.InterfaceIndex(item.NoInterface)}
			if len(d.Punt.Paths) > 0 {
				p := d.Punt.Paths[0]
				if e.other = ipconv.PlainPathSettings(p); len(d.Punt.Paths) > 1 {
					e.other += fmt.Sprintf(" %d paths", len(d.Punt.Paths))
				}
				e.tx, e.via = interface_types.InterfaceIndex(p.SwIfIndex), netip.AddrFrom4(p.Nh.Address.GetIP4())
				if p.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6 {
					e.via = netip.AddrFrom16(p.Nh.Address.GetIP6())
				}
			}
			all = append(all, e)
		}
	}
	return all, nil
}
