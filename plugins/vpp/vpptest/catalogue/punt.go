package catalogue

import (
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	puntapi "go.fd.io/govpp/binapi/punt"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
)

func ipRedirect() Item {
	redirect := func(p punt.L3Protocol, rx string) *punt.IPRedirect {
		return &punt.IPRedirect{L3Protocol: p, RxInterface: rx, TxInterface: "lo", NextHop: "2001:db8::9"}
	}
	return Item{
		Name: "vpp.ipredirect",
		Make: func() proto.Message { return redirect(punt.L3Protocol_ALL, "rx") },
		Needs: func() []proto.Message {
			return []proto.Message{Base(), &interfaces.Interface{
				Name: "rx", Type: interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: true,
			}}
		},
		Capability: "punt IP redirect",
		Updates: []Change{
			To(func(r *punt.IPRedirect) { r.NextHop = "10.1.1.9" }),
			To(func(r *punt.IPRedirect) { r.RxInterface = "" }),
		},
		Refusals: map[string]Change{
			"l3_protocol: UNDEFINED_L3": To(func(r *punt.IPRedirect) { r.L3Protocol = 0 }),
			"tx_interface: empty":       To(func(r *punt.IPRedirect) { r.TxInterface = "" }),
			"next_hop: ::, expected":    To(func(r *punt.IPRedirect) { r.NextHop = "::" }),
			`next_hop: empty, expected`: To(func(r *punt.IPRedirect) { r.NextHop = "" }),
		},
		Spellings: []Change{To(func(r *punt.IPRedirect) { r.NextHop = "2001:DB8:0::9" })},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &ip.AddDelIPPuntRedirectV2{Punt: ip.PuntRedirectV2{
				RxSwIfIndex: interface_types.InterfaceIndex(index(m.(*punt.IPRedirect).RxInterface)), Af: ip_types.ADDRESS_IP6,
			}}, &ip.AddDelIPPuntRedirectV2Reply{}
		},
		Without: map[string]string{
			"Recreates": "VPP changes all but the key",
			"Conflicts": "two redirects of one receiving interface: TestIPRedirectsOfOneInterface",
		},
	}
}

func toHost() Item {
	return Item{
		Name: "vpp.tohost",
		Make: func() proto.Message {
			return &punt.ToHost{L3Protocol: punt.L3Protocol_ALL, L4Protocol: punt.L4Protocol_UDP, Port: 1234, SocketPath: "/tmp/to-host.sock"}
		},
		Capability: "punt to host",
		Updates:    []Change{To(func(h *punt.ToHost) { h.SocketPath = "/tmp/other.sock" })},
		Refusals: map[string]Change{
			"l3_protocol: UNDEFINED_L3":      To(func(h *punt.ToHost) { h.L3Protocol = 0 }),
			"l4_protocol: TCP, expected UDP": To(func(h *punt.ToHost) { h.L4Protocol = punt.L4Protocol_TCP }),
			"port: 0, expected 1 to 65534":   To(func(h *punt.ToHost) { h.Port = 0 }),
			"port: 65535, expected":          To(func(h *punt.ToHost) { h.Port = 65535 }),
			"socket_path: empty":             To(func(h *punt.ToHost) { h.SocketPath = "" }),
			"socket_path: 108 bytes":         To(func(h *punt.ToHost) { h.SocketPath = strings.Repeat("x", 108) }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &puntapi.PuntSocketDeregister{Punt: puntapi.Punt{Punt: puntapi.PuntUnionL4(puntapi.PuntL4{
				Af: ip_types.ADDRESS_IP6, Protocol: ip_types.IP_API_PROTO_UDP, Port: 1234,
			})}}, &puntapi.PuntSocketDeregisterReply{}
		},
		Without: map[string]string{
			"Needs": "the program creates its socket at any time", "Spellings": "a path has none",
			"Recreates": "VPP changes all but the key", "Conflicts": "ALL and one version of IP: TestPuntSockets",
		},
	}
}

func puntException() Item {
	return Item{
		Name: "vpp.exception",
		Make: func() proto.Message {
			return &punt.Exception{Reason: "ipsec4-no-such-tunnel", SocketPath: "/tmp/exception.sock"}
		},
		Capability: "punt exception",
		Updates:    []Change{To(func(e *punt.Exception) { e.SocketPath = "/tmp/other.sock" })},
		Refusals: map[string]Change{
			"reason: empty":      To(func(e *punt.Exception) { e.Reason = "" }),
			"socket_path: empty": To(func(e *punt.Exception) { e.SocketPath = "" }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &puntapi.PuntSocketDeregister{Punt: puntapi.Punt{
				Type: puntapi.PUNT_API_TYPE_EXCEPTION, Punt: puntapi.PuntUnionException(puntapi.PuntException{ID: 2}),
			}}, &puntapi.PuntSocketDeregisterReply{}
		},
		Without: map[string]string{
			"Needs": "the program creates its socket at any time", "Spellings": "names and paths have none",
			"Recreates": "VPP changes all but the key", "Conflicts": "the reason is the key",
		},
	}
}
