package descriptor

import (
	"net/netip"
	"testing"

	"go.fd.io/govpp/binapi/ipip"
	"go.fd.io/govpp/binapi/tunnel_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
)

// The mode of a tunnel follows from its ends, whatever VPP has put into the field.
func TestIPIPModeFollowsFromEnds(t *testing.T) {
	t.Parallel()
	src, dst := ipconv.Address(netip.MustParseAddr("192.0.2.1")), ipconv.Address(netip.MustParseAddr("192.0.2.2"))
	none := ipconv.Address(netip.IPv4Unspecified())
	none.Un.XXX_UnionData[9] = 1 // not part of an IPv4 address
	for _, mode := range []tunnel_types.TunnelMode{tunnel_types.TUNNEL_API_MODE_P2P, tunnel_types.TUNNEL_API_MODE_MP, 0x5f} {
		for want, tunnel := range map[tunnel_types.TunnelMode]ipip.IpipTunnel{
			tunnel_types.TUNNEL_API_MODE_P2P: {Src: src, Dst: dst, Mode: mode},
			tunnel_types.TUNNEL_API_MODE_MP:  {Src: src, Dst: none, Mode: mode},
		} {
			if _, got := ipipTunnel(&ipip.IpipTunnelDetails{Tunnel: tunnel}); got.Mode != want {
				t.Errorf("mode %d to %s: %d, expected %d", mode, tunnel.Dst, got.Mode, want)
			}
		}
	}
}
