package vpptest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	interfacesapi "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/ipsec_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// rekeyed is a tunnel with the associations first (sent) and first+1 (received).
func rekeyed(first uint32) values {
	return of(catalogue.IpsecSA(first, 1000+first), catalogue.IpsecSA(first+1, 1001+first),
		catalogue.IpsecTunnelProtection("tunnel", first, first+1))
}

// A tunnel gets new keys without a moment without protection: the new associations are made, the
// tunnel changes to them, and the old ones go. VPP would keep an association that is in use.
func TestIpsecRekey(t *testing.T) {
	t.Run("simulator", func(t *testing.T) { rekey(t, journal(t)) })
	t.Run("real", func(t *testing.T) { rekey(t, vpptest.Real(t)) })
}

// journal is a simulator that keeps its last requests.
func journal(t *testing.T) vpptest.Target {
	opts := simOptions()
	opts.JournalSize = 64
	return vpptest.Simulator(t, opts)
}

func rekey(t *testing.T, target vpptest.Target) {
	b := vpptest.Start(t, target)
	b.Must(of(catalogue.Ipip("tunnel", "192.0.2.1", "192.0.2.2")))
	b.Must(rekeyed(10))
	allConfigured(t, b, rekeyed(10))
	protection := key(catalogue.IpsecTunnelProtection("tunnel", 0, 0))
	for _, first := range []uint32{20, 30} {
		change := deleted(rekeyed(first - 10))
		maps.Copy(change, rekeyed(first))
		ops := b.Change(change)
		at := slices.Index(ops, "update "+protection)
		if len(ops) != 5 || at != 2 || !strings.HasPrefix(ops[1], "create ") || !strings.HasPrefix(ops[3], "delete ") {
			t.Errorf("operations\n\t%s", strings.Join(ops, "\n\t"))
		}
		if target.Sim != nil {
			wantLast(t, target, "ipsec_sad_entry_add", "ipsec_sad_entry_add", "ipsec_tunnel_protect_update", "ipsec_sad_entry_del", "ipsec_sad_entry_del")
		}
		readBack(t, b, "vpp-ipsec-sa", of(catalogue.IpsecSA(first, 1000+first), catalogue.IpsecSA(first+1, 1001+first)))
		b.InSync()
	}
	b.Must(deleted(rekeyed(30)))
	readBack(t, b, "vpp-ipsec-sa", nil)
}

// wantLast expects the names of the last requests that changed IPsec.
func wantLast(t *testing.T, target vpptest.Target, want ...string) {
	t.Helper()
	var got []string
	for _, r := range target.Sim.Journal() {
		if strings.HasPrefix(r.Name, "ipsec_") && !strings.HasSuffix(r.Name, "_dump") {
			got = append(got, r.Name)
		}
	}
	if got = got[max(0, len(got)-len(want)):]; !slices.Equal(got, want) {
		t.Errorf("requests %q, expected %q", got, want)
	}
}

// An association whose tunnel has another source is changed in place, and the tunnels that
// receive by it learn the new address.
func TestIpsecSAMoves(t *testing.T) {
	target := journal(t)
	b := vpptest.Start(t, target)
	if !slices.Contains(target.Sim.Messages(), "ipsec_sad_entry_update") {
		t.Skip("VPP 22.10 changes no association")
	}
	out, in := catalogue.IpsecTunnelSA(1, 1001, "192.0.2.1", "192.0.2.2"), catalogue.IpsecTunnelSA(2, 1002, "192.0.2.2", "192.0.2.1")
	b.Must(of(catalogue.IpsecInterface("ipsec"), out, in, catalogue.IpsecTunnelProtection("ipsec", 1, 2)))
	out, in = proto.CloneOf(out), proto.CloneOf(in)
	out.TunnelDstAddr, in.TunnelSrcAddr = "192.0.2.9", "192.0.2.9"
	if ops := b.Change(of(out, in)); len(ops) != 2 || !strings.HasPrefix(ops[0], "update ") {
		t.Errorf("operations\n\t%s", strings.Join(ops, "\n\t"))
	}
	wantLast(t, target, "ipsec_sad_entry_update", "ipsec_tunnel_protect_update")
	readBack(t, b, "vpp-ipsec-sa", of(out, in))
	b.InSync()
}

// What VPP refuses too late is refused before: it would count another user of the associations,
// which then could never be removed.
func TestIpsecProtectionRefused(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		sas := of(catalogue.IpsecSA(1, 1001), catalogue.IpsecSA(2, 1002), catalogue.IpsecSA(3, 1002))
		b.Must(sas)
		b.Must(of(loop("lo"), catalogue.IpsecInterface("ipsec"), catalogue.Ipip("tunnel", "192.0.2.1", "192.0.2.2")))
		for want, p := range map[string]*ipsec.TunnelProtection{
			`interface: "lo" is a SOFTWARE_LOOPBACK, expected`:   catalogue.IpsecTunnelProtection("lo", 1, 2),
			"sa_out: association 1 has no tunnel addresses":      catalogue.IpsecTunnelProtection("ipsec", 1, 2),
			"sa_in: associations 2 and 3 have the same SPI 1002": catalogue.IpsecTunnelProtection("tunnel", 1, 2, 3),
		} {
			if err := b.Commit(of(p)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, expected %q", err, want)
			}
			b.Must(deleted(of(p)))
		}
		b.Must(deleted(sas))
		readBack(t, b, "vpp-ipsec-sa", nil)
		readBack(t, b, "vpp-tun-protect", nil)
	})
}

// Another client deletes an interface that uses a policy database: VPP does not end the use, and
// another interface gets the index.
func TestIpsecSPDOfDeletedInterface(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		// Inside VPP, database 5 has index 1.
		b.Must(of(catalogue.IpsecSPD(4)))
		b.Must(of(catalogue.IpsecSPD(5, "a", "b"), loop("a"), loop("b")))
		b.Must(deleted(of(catalogue.IpsecSPD(4))))
		readBack(t, b, "vpp-ipsec-spd", of(catalogue.IpsecSPD(5, "a", "b")))
		b.InSync()
		err := b.Mux.Conn().Call(t.Context(), &interfacesapi.DeleteLoopback{
			SwIfIndex: interface_types.InterfaceIndex(indexOf(b, "a")),
		}, &interfacesapi.DeleteLoopbackReply{})
		if err != nil {
			t.Fatal(err)
		}
		b.Resync()
		b.Want(states{key(catalogue.IpsecSPD(5)): configured, "vpp/spd/5/interface/a": configured, "vpp/spd/5/interface/b": configured})
		b.InSync()
	})
}

// Policies of IPv6 read back as they are written, though VPP lists some of their addresses as
// IPv4 addresses; policies that do not protect need no association.
func TestIpsecPolicies(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		every := &ipsec.SecurityPolicy{
			SpdIndex: 1, SaIndex: 77, Priority: 1 << 30, RemotePortStop: 65535, LocalPortStop: 65535, Action: ipsec.SecurityPolicy_BYPASS,
			RemoteAddrStart: "::", RemoteAddrStop: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", LocalAddrStart: "::1.2.3.4", LocalAddrStop: "2001:db8::1",
		}
		none := &ipsec.SecurityPolicy{
			SpdIndex: 2, RemotePortStop: 65535, LocalPortStop: 65535, Action: ipsec.SecurityPolicy_DISCARD, IsOutbound: true, Protocol: 17,
			RemoteAddrStart: "0.0.0.0", RemoteAddrStop: "255.255.255.255", LocalAddrStart: "0.0.0.0", LocalAddrStop: "255.255.255.255",
		}
		b.Must(of(every, none, catalogue.IpsecSPD(1), catalogue.IpsecSPD(2)))
		allConfigured(t, b, of(every, none))
		readBack(t, b, "vpp-ipsec-sp", of(every, none))
		b.InSync()
	})
}

// An association that VPP has already, by another client, is named.
func TestIpsecNumberTaken(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		for req, reply := range map[api.Message]api.Message{
			&ipsecapi.IpsecSpdAddDel{IsAdd: true, SpdID: 9}: &ipsecapi.IpsecSpdAddDelReply{},
			&ipsecapi.IpsecSadEntryAdd{Entry: ipsec_types.IpsecSadEntryV3{
				SadID: 9, Spi: 1, Protocol: ipsec_types.IPSEC_API_PROTO_ESP,
			}}: &ipsecapi.IpsecSadEntryAddReply{},
		} {
			if err := b.Mux.Conn().Call(t.Context(), req, reply); err != nil {
				t.Fatal(err)
			}
		}
		for want, m := range map[string]proto.Message{
			"index: VPP has another association with this number": catalogue.IpsecSA(9, 9009),
			"index: VPP has another database with the number 9":   catalogue.IpsecSPD(9),
		} {
			if err := b.Commit(of(m)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, expected %q", err, want)
			}
		}
		b.Resync()
		allConfigured(t, b, of(catalogue.IpsecSA(9, 9009), catalogue.IpsecSPD(9)))
		b.InSync()
	})
}
