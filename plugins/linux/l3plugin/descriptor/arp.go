package descriptor

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// A neighbour tells the MAC address of an IP address, for IPv4 (ARP) and IPv6
// (NDP) alike. The kernel learns neighbours; those that are configured are
// permanent. It does not report who configured one, so permanent entries that
// are not desired are left alone.

// ARPName is the name of the descriptor of neighbours.
const ARPName = "linux-arp"

// Labels of the dependencies of a neighbour.
const (
	arpInterfaceUp      = "interface-is-up"
	arpInterfaceAddress = "interface-has-ip-address"
)

type arp struct{ Deps }

type arpKV = api.KV[*l3.ARPEntry, any]

// NewARP returns the descriptor linux-arp.
func NewARP(deps Deps) *api.KVDescriptor {
	d := arp{deps}
	return api.Adapt(api.Describe(l3model.ARPModel, api.Descriptor[*l3.ARPEntry, any]{
		Name:                 ARPName,
		Southbound:           nsmodel.Southbound,
		ValueComparator:      sameARP,
		Validate:             validateARP,
		Dependencies:         arpDependencies,
		CreateContext:        func(ctx context.Context, _ string, v *l3.ARPEntry) (any, error) { return nil, d.set(ctx, v) },
		UpdateContext:        func(ctx context.Context, _ string, _, v *l3.ARPEntry, _ any) (any, error) { return nil, d.set(ctx, v) },
		DeleteContext:        d.delete,
		RetrieveContext:      d.retrieve,
		RetrieveValueContext: d.retrieveValue,
		RetrieveDependencies: []string{ifaceidx.Descriptor},
		ConcurrentRetrieve:   true,
	}))
}

func sameARP(_ string, a, b *l3.ARPEntry) bool {
	return a.GetInterface() == b.GetInterface() && address(a.GetIpAddress()) == address(b.GetIpAddress()) &&
		strings.EqualFold(a.GetHwAddress(), b.GetHwAddress())
}

func validateARP(_ string, v *l3.ARPEntry) error {
	var errs []error
	if v.GetInterface() == "" {
		errs = append(errs, invalid("interface", "empty; expected the name of an interface"))
	}
	if err := checkAddress(v.GetIpAddress()); err != nil {
		errs = append(errs, invalid("ip_address", "%w", err))
	}
	if mac, err := net.ParseMAC(v.GetHwAddress()); err != nil || len(mac) != 6 {
		errs = append(errs, invalid("hw_address", "%q; expected a MAC address such as 02:fe:00:00:00:01", v.GetHwAddress()))
	}
	return errors.Join(errs...)
}

func arpDependencies(_ string, v *l3.ARPEntry) []api.Dependency {
	return []api.Dependency{isUp(arpInterfaceUp, v.GetInterface()), hasAddress(arpInterfaceAddress, v.GetInterface())}
}

// neighbour converts a value.
func neighbour(p *ifaceidx.Place, v *l3.ARPEntry) (netlinkapi.Neighbour, error) {
	mac, err := net.ParseMAC(v.GetHwAddress())
	if err != nil {
		return netlinkapi.Neighbour{}, invalid("hw_address", "%w", err)
	}
	return netlinkapi.Neighbour{Link: p.Link.Index, IP: address(v.GetIpAddress()), MAC: mac}, nil
}

func (d arp) set(ctx context.Context, v *l3.ARPEntry) error {
	p, err := d.find(ctx, v.GetInterface())
	if err != nil {
		return err
	}
	defer closeHandle(p)
	n, err := neighbour(p, v)
	if err != nil {
		return err
	}
	return p.SetNeighbour(n)
}

func (d arp) delete(ctx context.Context, _ string, v *l3.ARPEntry, _ any) error {
	p, err := d.find(ctx, v.GetInterface())
	if err != nil {
		return ignoreGone(err)
	}
	defer closeHandle(p)
	n, err := neighbour(p, v)
	if err != nil {
		return err
	}
	return ignoreGone(p.DeleteNeighbour(n))
}

func (d arp) retrieve(ctx context.Context, correlate []arpKV) ([]arpKV, error) {
	type id struct{ iface, ip string }
	wanted := map[id]arpKV{}
	for _, kv := range correlate {
		wanted[id{kv.Value.GetInterface(), address(kv.Value.GetIpAddress()).String()}] = kv
	}
	var found []arpKV
	err := d.visit(ctx, func(h netlinkapi.Handle, names map[int]string) error {
		all, err := h.Neighbours()
		if err != nil {
			return err
		}
		for _, n := range all {
			iface := names[n.Link]
			if iface == "" || !n.Permanent || len(n.MAC) == 0 || n.IP.IsMulticast() {
				continue
			}
			v := &l3.ARPEntry{Interface: iface, IpAddress: n.IP.String(), HwAddress: n.MAC.String()}
			origin := api.UnknownOrigin
			if want, ok := wanted[id{iface, n.IP.String()}]; ok {
				v.IpAddress, origin = want.Value.GetIpAddress(), api.FromNB
			}
			found = append(found, arpKV{Key: l3model.ARPModel.Key(v), Value: v, Origin: origin})
		}
		return nil
	})
	return found, err
}

func (d arp) retrieveValue(ctx context.Context, _ string, last *l3.ARPEntry, _ any) (*l3.ARPEntry, any, bool, error) {
	p, err := d.find(ctx, last.GetInterface())
	if err != nil {
		return nil, nil, false, ignoreGone(err)
	}
	defer closeHandle(p)
	all, err := p.Neighbours()
	if err != nil {
		return nil, nil, false, err
	}
	ip := address(last.GetIpAddress())
	for _, n := range all {
		if n.Link == p.Link.Index && n.IP == ip && n.Permanent {
			v := &l3.ARPEntry{Interface: last.GetInterface(), IpAddress: last.GetIpAddress(), HwAddress: n.MAC.String()}
			return v, nil, true, nil
		}
	}
	return nil, nil, false, nil
}
