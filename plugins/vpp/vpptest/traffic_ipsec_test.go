package vpptest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
)

// protect gives an end of the tunnel associations: it sends by out and receives by all of in.
// Associations have their SPI as number.
func protect(out uint32, in ...uint32) values {
	vs := of(catalogue.IpsecTunnelProtection("tunnel", out, in...))
	for _, id := range append(in, out) {
		sa := catalogue.IpsecSA(id, id)
		vs[key(sa)] = sa
	}
	return vs
}

// Stations at two VPPs reach each other through a protected tunnel, which gets new keys without
// the loss of a packet.
func TestTrafficIpsecRekey(t *testing.T) {
	p := newPair(t)
	p.left.Await("vpp/interface/cable/link-state/UP", obtained)
	left, right := ipip("tunnel", "10.0.0.1", "10.0.0.2"), ipip("tunnel", "10.0.0.2", "10.0.0.1")
	left.IpAddresses, right.IpAddresses = []string{"10.9.0.1/30"}, []string{"10.9.0.2/30"}
	toBlue, toRed := p.route("tunnel", "10.9.0.2", "10.9.0.1")
	p.left.Must(of(left))
	p.right.Must(of(right))
	p.left.Must(toBlue)
	p.right.Must(toRed)
	p.left.Must(protect(1000, 2000))
	p.red.cutFrom("198.51.100.1") // the other end does not decrypt
	p.right.Must(protect(2000, 1000))
	p.red.reaches("198.51.100.1")

	ping := exec.CommandContext(t.Context(), "ip", "netns", "exec", p.red.ns, "ping", "-i", "0.01", "-c", "300", "-q", "198.51.100.1")
	done := make(chan string, 1)
	go func() {
		out, err := ping.CombinedOutput()
		if err != nil {
			out = append(out, err.Error()...)
		}
		done <- string(out)
	}()
	for rekeys, from := 0, uint32(0); ; rekeys, from = rekeys+1, from+1 {
		// Both ends receive by the new associations before one sends by them.
		p.left.Must(protect(1000+from, 2000+from, 2001+from))
		p.right.Must(protect(2000+from, 1000+from, 1001+from))
		p.left.Must(protect(1001+from, 2000+from, 2001+from))
		p.right.Must(protect(2001+from, 1000+from, 1001+from))
		p.left.Must(protect(1001+from, 2001+from))
		p.right.Must(protect(2001+from, 1001+from))
		for _, b := range []*vpptest.Harness{p.left, p.right} {
			b.Must(deleted(of(catalogue.IpsecSA(1000+from, 1), catalogue.IpsecSA(2000+from, 1))))
		}
		select {
		case out := <-done:
			t.Logf("%d new keys: %s", rekeys+1, out)
			if !strings.Contains(out, " 0% packet loss") || rekeys == 0 {
				t.Errorf("packets were lost, or no keys were changed:\n%s", out)
			}
			p.left.InSync()
			p.right.InSync()
			return
		default:
		}
	}
}
