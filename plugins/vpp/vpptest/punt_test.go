package vpptest_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/puntplugin"

	"go.fd.io/govpp/api"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
)

// VPP would redirect to the interface that comes last, and loses count of the redirections
// that it replaces. The agent refuses the second one until the first one is gone.
func TestIPRedirectsOfOneInterface(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("a"), loop("b")))
		first := &punt.IPRedirect{L3Protocol: punt.L3Protocol_IPV4, TxInterface: "a", NextHop: "10.1.1.9"}
		second := &punt.IPRedirect{L3Protocol: punt.L3Protocol_ALL, TxInterface: "b", NextHop: "10.1.1.9"}
		b.Must(of(first))
		const says = "l3_protocol, rx_interface: VPP has it already, for config/vpp/v2/ipredirect/l3/IPV4/tx/a"
		if err := b.Commit(of(second)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, expected %q", err, says)
		}
		b.Want(states{catalogue.Key(second): failed})
		allConfigured(t, b, of(first))
		b.Must(deleted(of(first)))
		b.Resync()
		allConfigured(t, b, of(second))
		b.InSync()
		b.Must(deleted(of(second, loop("a"), loop("b"))))
	})
}

// The socket that VPP sends from is in the metadata. A reason that VPP does not know is named
// with those that it knows, as is what a VPP lacks that refuses a registration. A port has
// one socket.
func TestPuntSockets(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		host := &punt.ToHost{L3Protocol: punt.L3Protocol_IPV4, L4Protocol: punt.L4Protocol_UDP, Port: 1234, SocketPath: "/tmp/x.sock"}
		unknown := &punt.Exception{Reason: "no-such-reason", SocketPath: "/tmp/x.sock"}
		if err := b.Commit(of(unknown)); err == nil || !strings.Contains(err.Error(),
			`reason: "no-such-reason": VPP has no reason of this name; it has ipsec4-no-such-tunnel, ipsec4-spi-o-udp-0, `) {
			t.Errorf("error %v", err)
		}
		b.Must(deleted(of(unknown)))
		b.Must(of(host))
		all, err := b.Scheduler.DumpValuesByDescriptor(puntplugin.ToHostName, kvs.SBView)
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		if m, ok := all[0].Metadata.(*puntplugin.Socket); !ok || !strings.HasSuffix(m.Path, "/punt.sock") {
			t.Errorf("metadata %v", all[0].Metadata)
		}
		both := &punt.ToHost{L3Protocol: punt.L3Protocol_ALL, L4Protocol: punt.L4Protocol_UDP, Port: 1234, SocketPath: "/tmp/y.sock"}
		const says = "l3_protocol, port: VPP has it already, for config/vpp/v2/tohost/l3/IPV4/l4/UDP/port/1234"
		if err := b.Commit(of(both)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, expected %q", err, says)
		}
		b.Want(states{catalogue.Key(both): failed})
		allConfigured(t, b, of(host))
		b.Must(deleted(of(host)))
		b.Resync()
		allConfigured(t, b, of(both))
		b.InSync()
		b.Must(deleted(of(both)))
		if target.Sim == nil {
			return
		}
		if err := target.Sim.Fail("punt_socket_register", api.UNSPECIFIED, 1); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(of(host)); err == nil || !strings.Contains(err.Error(), "set punt { socket <path> }") {
			t.Errorf("error %v", err)
		}
	})
}
