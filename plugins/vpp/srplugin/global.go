package srplugin

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/sr"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

var sourceOperation = session.Require("SRv6 source address", "",
	(*sr.SrSetEncapSource)(nil), (*sr.SrSetEncapSourceReply)(nil))

// source is the source address of encapsulating packets, "::" in a VPP that was just started.
type source = ip_types.IP6Address

// NewGlobal describes what is common to all policies: the source address. VPP writes it into segment
// lists when it makes them, so a change makes the lists of policies again.
func NewGlobal(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewSingleton(vpp, item.Singleton[*srv6.SRv6Global, source]{
		Name: GlobalName, Model: GlobalModel,
		Resolve: func(_ *item.Resolver, v *srv6.SRv6Global) source {
			a, _ := ipconv.ParseAddr(v.GetEncapSourceAddress()) // empty: "::"
			return a.As16()
		},
		Value: func(s source) *srv6.SRv6Global {
			return &srv6.SRv6Global{EncapSourceAddress: netip.AddrFrom16(s).String()}
		},
		Set: func(ctx context.Context, _, s *source) error {
			if err := sourceOperation.Check(vpp); err != nil {
				return err
			}
			request := &sr.SrSetEncapSource{}
			if s != nil {
				request.EncapsSource = *s
			}
			if err := vpp.Call(ctx, request, &sr.SrSetEncapSourceReply{}); err != nil {
				return err
			}
			return (&policies{vpp}).renew(ctx)
		},
		Get:      func(ctx context.Context) (*source, error) { return readSource(ctx, vpp) },
		Implicit: func(s source) bool { return s == source{} },
	})
}

// readSource reads the address from the command line: VPP has no message that returns it.
func readSource(ctx context.Context, vpp *session.VPP) (*source, error) {
	const command, answer = "show sr encaps source addr", "SR encaps source addr = "
	shown, err := vpp.Command(ctx, command)
	if err != nil {
		return nil, err
	}
	text, _ := strings.CutPrefix(strings.TrimSpace(shown), answer)
	a, err := netip.ParseAddr(text)
	if err != nil {
		return nil, fmt.Errorf("command %q shows %q, expected %q and an address", command, shown, answer)
	}
	s := source(a.As16())
	return &s, nil
}
