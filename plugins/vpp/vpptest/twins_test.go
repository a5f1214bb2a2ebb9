package vpptest_test

import (
	"maps"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// twins are pairs of items that are one object of VPP, and what the error of the second one says of
// the first.
func twins() map[string][2]proto.Message {
	first, second := pool("192.0.2.10", "192.0.2.12"), pool("192.0.2.12", "192.0.2.14")
	first.Name, second.Name = "p1", "p2"
	return map[string][2]proto.Message{
		`"vxlan1"`:            {vxlan("vxlan1", "192.0.2.1", "192.0.2.2", 100), vxlan("vxlan2", "192.0.2.1", "192.0.2.2", 100)},
		`"gpe1"`:              {vxlanGpe("gpe1", "192.0.2.1", "192.0.2.2", 100), vxlanGpe("gpe2", "192.0.2.1", "192.0.2.2", 100)},
		`"gtpu1"`:             {gtpu("gtpu1", "192.0.2.1", "192.0.2.2", 100), gtpu("gtpu2", "192.0.2.1", "192.0.2.2", 100)},
		`"gre1"`:              {gre("gre1", "192.0.2.1", "192.0.2.2", interfaces.GreLink_TEB), gre("gre2", "192.0.2.1", "192.0.2.2", interfaces.GreLink_TEB)},
		`"ipip1"`:             {ipip("ipip1", "192.0.2.1", "192.0.2.2"), ipip("ipip2", "192.0.2.1", "192.0.2.2")},
		`"sub1"`:              {subif("sub1", "q", 10), subif("sub2", "q", 10)},
		`"memif1"`:            {memif("memif1", 7, ""), memif("memif2", 7, "")},
		`"bond1"`:             {bond("bond1", 7), bond("bond2", 7)},
		`"bd1"`:               {bridge("bd1", "q"), bridge("bd2", "q")},
		"dnat44/d1":           {dnat("d1", "192.0.2.1", 80, "10.0.0.1"), dnat("d2", "192.0.2.1", 80, "10.0.0.1")},
		"nat44-pool/p1":       {first, second},
		`"s1"`:                {catalogue.SRv6Steering("s1", "2001:db8::1", "10.5.0.0/16"), catalogue.SRv6Steering("s2", "2001:db8::1", "10.5.0.0/16")},
		`"m" uses database 1`: {catalogue.IpsecSPD(1, "m"), catalogue.IpsecSPD(2, "m")},
	}
}

// The second of two items that are one object of VPP is refused, by the name of the first, which
// stays as it is. When the first is removed, the second is created.
func TestTwins(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		policy := catalogue.SRv6Policy("2001:db8::1", catalogue.SRv6Segments(1, "2001:db8:9::1"))
		b.Must(of(loop("q"), loop("m"), &nat.Nat44Global{}, policy))
		firsts, seconds := values{}, values{}
		for name, pair := range twins() {
			first, second := of(pair[0]), of(pair[1])
			b.Must(first)
			err := b.Commit(second, kvs.WithRetryDefault())
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: error %v", name, err)
			}
			allConfigured(t, b, first)
			maps.Copy(firsts, first)
			maps.Copy(seconds, second)
		}
		b.Must(deleted(firsts))
		for key := range seconds {
			b.AwaitWhole(key)
		}
		b.InSync()
		b.Must(deleted(seconds))
		b.InSync()
	})
}
