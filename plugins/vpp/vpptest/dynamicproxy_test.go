package vpptest_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/srplugin"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vlib"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// A VPP without the plugin srv6ad takes "end.ad" for "end", and then knows neither the rest nor a segment.
func TestDynamicProxyWithoutPlugin(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{
		"sr localsid: Error: SRv6 LocalSID address is mandatory.":        "needs the plugin srv6ad",
		"sr localsid: Error on the plugin based localsid creation.":      "end_function_ad.incoming_interface: VPP refuses it",
		"sr localsid: There is already one FIB entry for therequested":   "sid: VPP has a route to this address",
		"sr localsid: Identical localsid already exists.":                "sid: VPP has this segment already",
		"sr localsid: Something that no release of VPP has said before.": "said before",
	} {
		b := vpptest.Start(t, vpptest.Simulator(t, vppsim.Options{}))
		vppsim.Handle(b.Sim, func(_ *vppsim.Call, req *vlib.CliInband) *vlib.CliInbandReply {
			if !strings.HasPrefix(req.Cmd, "sr localsid") {
				return &vlib.CliInbandReply{}
			}
			return &vlib.CliInbandReply{Retval: int32(api.UNSPECIFIED), Reply: reply + "\n"}
		})
		sid := &srv6.LocalSID{Sid: "2001:db8:100::1", EndFunction: &srv6.LocalSID_EndFunctionAd{EndFunctionAd: &srv6.LocalSID_EndAD{
			OutgoingInterface: "lo", IncomingInterface: "lo",
		}}}
		err := b.Commit(of(catalogue.Base(), sid))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("VPP answers %q: error %v, expected %q", reply, err, want)
		}
		state := failed
		if strings.Contains(want, "plugin srv6ad") {
			state = kvscheduler.ValueState_UNIMPLEMENTED
		}
		b.Want(states{srplugin.LocalSIDModel.Key(sid): state})
	}
}

// Of two dynamic proxies for the packets of one service VPP gets one, also in one transaction, and
// the other one when the first is removed.
func TestDynamicProxiesOfOneService(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		one, two, other := dynamicProxy("lo", "lo", "10.1.1.8"), dynamicProxy("lo", "lo", "10.1.1.9"), dynamicProxy("lo", "lo", "2001:db8::9")
		two.Sid, other.Sid = "2001:db8:100::2", "2001:db8:100::3"
		all := of(catalogue.Base(), one, two, other)
		if err := b.Commit(all); err == nil || !strings.Contains(err.Error(), "takes the IPv4 packets of this interface already") {
			t.Errorf("error %v", err)
		}
		refused, key := one, srplugin.LocalSIDModel.Key(two)
		if b.State(key) != configured {
			refused, key = two, srplugin.LocalSIDModel.Key(one)
		}
		b.Want(states{srplugin.LocalSIDModel.Key(refused): failed, key: configured, srplugin.LocalSIDModel.Key(other): configured})
		moved := of(refused)
		moved[key] = nil
		b.Must(moved)
		b.Want(states{srplugin.LocalSIDModel.Key(refused): configured})
		b.InSync()
	})
}
