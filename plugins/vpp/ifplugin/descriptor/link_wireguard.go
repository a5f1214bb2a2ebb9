package descriptor

import (
	"context"
	"encoding/base64"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A WireGuard interface has a key and sends from an address and a port; its
// peers are items of their own. None of this can be changed. VPP knows no other
// identity of it: one that is left over without tag is not found again.

// wireguardCalls is what WireGuard interfaces need of VPP.
type wireguardCalls interface {
	CreateWireguard(ctx context.Context, w vppcalls.Wireguard) (swIfIndex uint32, err error)
	DeleteWireguard(ctx context.Context, swIfIndex uint32) error
	DumpWireguards(ctx context.Context) (map[uint32]vppcalls.Wireguard, error)
}

type wireguard struct {
	kindDefaults
	vpp wireguardCalls
}

func (wireguard) traits() traits {
	return traits{
		packetMTU: true, link: func() proto.Message { return &interfaces.WireguardLink{} },
		noMAC: func(*interfaces.Interface) string { return "a WireGuard interface" },
	}
}

func (wireguard) check(i *interfaces.Interface) error {
	l := i.GetWireguard()
	e := ends{srcField: "wireguard.src_addr", src: l.GetSrcAddr()}
	_, addrErr := e.addr(e.srcField, e.src)
	errs := []error{addrErr, atMost("wireguard.port", l.GetPort(), 65535)}
	if key, err := base64.StdEncoding.DecodeString(l.GetPrivateKey()); err != nil || len(key) != vppcalls.WireguardKeySize {
		errs = append(errs, invalid("wireguard.private_key", "expected %d bytes in base64, which is 44 characters",
			vppcalls.WireguardKeySize))
	}
	return errors.Join(errs...)
}

func (wireguard) sameLink(a, b *interfaces.Interface) bool {
	x, y := a.GetWireguard(), b.GetWireguard()
	return x.GetPrivateKey() == y.GetPrivateKey() && x.GetPort() == y.GetPort() && ipconv.SameAddr(x.GetSrcAddr(), y.GetSrcAddr())
}

func (k wireguard) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	m := &ifaceidx.IfMeta{SwIfIndex: vppcalls.NoInterface}
	l := i.GetWireguard()
	src, err := ipconv.ParseAddr(l.GetSrcAddr())
	if err != nil {
		return m, err
	}
	w := vppcalls.Wireguard{Port: uint16(l.GetPort()), Src: src}
	key, err := base64.StdEncoding.DecodeString(l.GetPrivateKey())
	if err != nil {
		return m, errors.New("wireguard.private_key: expected base64")
	}
	copy(w.PrivateKey[:], key)
	m.SwIfIndex, err = k.vpp.CreateWireguard(ctx, w)
	return m, err
}

func (k wireguard) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteWireguard(ctx, m.SwIfIndex)
}

func (wireguard) claims(d vppcalls.Details) bool {
	return !d.SubInterface && d.DevType == vppcalls.WireguardDevice
}

func (k wireguard) read(ctx context.Context, _ func(uint32) string) (recogniser, error) {
	all, err := k.vpp.DumpWireguards(ctx)
	return func(d vppcalls.Details, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		w, ok := all[d.SwIfIndex]
		if !ok {
			return false
		}
		i.Type, i.Link = interfaces.Interface_WIREGUARD_TUNNEL, &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{
			PrivateKey: base64.StdEncoding.EncodeToString(w.PrivateKey[:]), Port: uint32(w.Port), SrcAddr: w.Src.String(),
		}}
		return true
	}, err
}
