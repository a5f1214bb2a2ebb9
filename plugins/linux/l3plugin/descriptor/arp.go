package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// A neighbour reports the MAC address of an IP address, for IPv4 (ARP) and IPv6
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

type arpKV = api.KV[*l3.ARPEntry, ARPMetadata]

// ARPMetadata says which entry of the kernel a neighbour is.
type ARPMetadata struct {
	Interface string // logical name
	IP        netip.Addr
}

// ARPsByAddress finds neighbours by their metadata: the key of one has its spelling.
var ARPsByAddress = idxmap.Index[ARPMetadata, ARPMetadata]{
	Name: "address",
	Keys: func(m ARPMetadata) []ARPMetadata { return []ARPMetadata{m} },
}

// NewARP returns the descriptor linux-arp.
func NewARP(deps Deps) *api.KVDescriptor {
	d := arp{deps}
	return api.Adapt(api.Describe(l3model.ARPModel, api.Descriptor[*l3.ARPEntry, ARPMetadata]{
		WithMetadata:    true,
		Name:            ARPName,
		Southbound:      nsmodel.Southbound,
		ValueComparator: sameARP,
		Validate:        d.validate,
		Dependencies:    arpDependencies,
		Identities:      arpIdentities,
		CreateContext: func(ctx context.Context, _ string, v *l3.ARPEntry) (ARPMetadata, error) {
			return d.set(ctx, v, func(h netlinkapi.Neighbours, n netlinkapi.Neighbour) error { return addNeighbour(ctx, h, n) })
		},
		UpdateContext: func(ctx context.Context, _ string, _, v *l3.ARPEntry, _ ARPMetadata) (ARPMetadata, error) {
			return d.set(ctx, v, func(h netlinkapi.Neighbours, n netlinkapi.Neighbour) error { return h.SetNeighbour(ctx, n) })
		},
		DeleteContext:        d.delete,
		RetrieveContext:      d.retrieve,
		RetrieveValueContext: d.retrieveValue,
		RetrieveDependencies: append([]string{ifaceidx.Descriptor}, deps.Allocated.RetrieveDependencies()...),
		ConcurrentRetrieve:   true,
	}))
}

func sameARP(_ string, a, b *l3.ARPEntry) bool {
	same := a.GetIpAddress() == b.GetIpAddress()
	if !refers(a.GetIpAddress(), b.GetIpAddress()) {
		same = address(a.GetIpAddress()) == address(b.GetIpAddress())
	}
	return same && a.GetInterface() == b.GetInterface() && usualMAC(a.GetHwAddress()) == usualMAC(b.GetHwAddress())
}

// usualMAC returns a MAC address in its usual form, whatever the spelling.
func usualMAC(text string) string {
	if mac, err := net.ParseMAC(text); err == nil {
		return mac.String()
	}
	return text
}

func (d arp) validate(_ string, v *l3.ARPEntry) error {
	var errs []error
	if refers(v.GetIpAddress()) {
		errs = append(errs, d.checkReference("ip_address", v.GetIpAddress(), v.GetInterface(), true))
	} else if err := checkAddress(v.GetIpAddress()); err != nil {
		errs = append(errs, invalid("ip_address", "%w", err))
	}
	if mac, err := net.ParseMAC(v.GetHwAddress()); err != nil || len(mac) != 6 {
		errs = append(errs, invalid("hw_address", "%q; expected a MAC address such as 02:fe:00:00:00:01", v.GetHwAddress()))
	}
	return errors.Join(errs...)
}

func arpDependencies(_ string, v *l3.ARPEntry) []api.Dependency {
	return append([]api.Dependency{isUp(arpInterfaceUp, v.GetInterface()), hasAddress(arpInterfaceAddress, v.GetInterface())},
		netallocmodel.Dependencies("", v.GetIpAddress(), v.GetInterface())...)
}

// arpIdentities are the address, however it is written, of an interface.
func arpIdentities(_ string, v *l3.ARPEntry) []string {
	if refers(v.GetIpAddress()) {
		return nil
	}
	return []string{fmt.Sprintf("neighbour/%s/%s", v.GetInterface(), address(v.GetIpAddress()))}
}

// neighbour converts a value.
func (d arp) neighbour(p *ifaceidx.Place, v *l3.ARPEntry) (netlinkapi.Neighbour, error) {
	v, err := d.literalARP(v)
	if err != nil {
		return netlinkapi.Neighbour{}, err
	}
	mac, err := net.ParseMAC(v.GetHwAddress())
	if err != nil {
		return netlinkapi.Neighbour{}, invalid("hw_address", "%w", err)
	}
	return netlinkapi.Neighbour{Link: p.Link.Index, IP: address(v.GetIpAddress()), MAC: mac}, nil
}

// addNeighbour adds an entry. It takes over a permanent one, which another program made: the error is
// then api.ErrFound.
func addNeighbour(ctx context.Context, h netlinkapi.Neighbours, n netlinkapi.Neighbour) error {
	err := h.AddNeighbour(ctx, n)
	if !errors.Is(err, netlinkapi.ErrExists) {
		return err
	}
	if err := h.SetNeighbour(ctx, n); err != nil {
		return err
	}
	return api.ErrFound
}

// set makes an entry by change.
func (d arp) set(ctx context.Context, v *l3.ARPEntry, change func(netlinkapi.Neighbours, netlinkapi.Neighbour) error) (none ARPMetadata, err error) {
	p, err := d.find(ctx, v.GetInterface())
	if err != nil {
		return none, err
	}
	defer closeHandle(p)
	n, err := d.neighbour(p, v)
	if err != nil {
		return none, err
	}
	return ARPMetadata{v.GetInterface(), n.IP}, change(p, n)
}

func (d arp) delete(ctx context.Context, _ string, v *l3.ARPEntry, _ ARPMetadata) error {
	p, err := d.find(ctx, v.GetInterface())
	if err != nil {
		return ignoreGone(err)
	}
	defer closeHandle(p)
	n, err := d.neighbour(p, v)
	if err != nil {
		return err
	}
	return ignoreGone(p.DeleteNeighbour(ctx, n))
}

func (d arp) retrieve(ctx context.Context, correlate []arpKV) ([]arpKV, error) {
	wanted := map[ARPMetadata]arpKV{}
	for _, kv := range correlate {
		v, err := d.literalARP(kv.Value)
		if err != nil {
			continue // what is not allocated is not there
		}
		of := ARPMetadata{v.GetInterface(), address(v.GetIpAddress())}
		if _, again := wanted[of]; !again { // desired values come first
			wanted[of] = kv
		}
	}
	var found []arpKV
	err := d.visit(ctx, func(h netlinkapi.Handle, names map[int]string) error {
		all, err := h.Neighbours(ctx)
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
			meta := ARPMetadata{iface, n.IP}
			if want, ok := wanted[meta]; ok {
				v.IpAddress, origin = want.Value.GetIpAddress(), api.FromNB
			}
			found = append(found, arpKV{Key: l3model.ARPModel.Key(v), Value: v, Metadata: meta, Origin: origin})
		}
		return nil
	})
	return found, err
}

func (d arp) retrieveValue(ctx context.Context, _ string, last *l3.ARPEntry, none ARPMetadata) (*l3.ARPEntry, ARPMetadata, bool, error) {
	p, err := d.find(ctx, last.GetInterface())
	if err != nil {
		return nil, none, false, ignoreGone(err)
	}
	defer closeHandle(p)
	all, err := p.Neighbours(ctx)
	if err != nil {
		return nil, none, false, err
	}
	literal, err := d.literalARP(last)
	if err != nil {
		return nil, none, false, err
	}
	ip := address(literal.GetIpAddress())
	for _, n := range all {
		if n.Link == p.Link.Index && n.IP == ip && n.Permanent {
			v := &l3.ARPEntry{Interface: last.GetInterface(), IpAddress: last.GetIpAddress(), HwAddress: n.MAC.String()}
			return v, ARPMetadata{last.GetInterface(), ip}, true, nil
		}
	}
	return nil, none, false, nil
}
