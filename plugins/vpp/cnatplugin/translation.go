package cnatplugin

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	cnatapi "go.fd.io/govpp/binapi/cnat"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/cnatmsg"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	cnat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/cnat"
)

// translation is a translation as VPP has it.
type translation struct {
	translationID
	balancing cnatapi.CnatLbType
	backends  []backend // one for each share
	untold
}

// translationID distinguishes translations.
type translationID struct {
	protocol ip_types.IPProto
	vip      netip.Addr
	port     uint16
}

// untold is what VPP does not report.
type untold struct {
	realIP, affinity bool
	flags            cnatapi.CnatTranslationFlags
}

type backend struct {
	endpoint
	noNAT bool
}

type endpoint struct {
	address, source netip.Addr // source: invalid is none
	port            uint16
}

// maxBackends limits the shares. Maglev wants many more entries in its table.
const maxBackends = 255

// noNAT is the flag of a backend that means no NAT. The API names another value before 26.06, which
// has no effect.
const noNAT = 2

// noReturnSession is in the API since 23.10.
const noReturnSession = cnatapi.CNAT_TRANSLATION_NO_RETURN_SESSION

var translations = item.DeclareObject("CNAT translation", plugin,
	item.ObjectVariant[translation]{
		Create: update,
		Index:  translationIndex,
		Update: func(_ uint32, _, t translation) (request, reply api.Message) { return update(t) },
		Remove: removal,
		Dumps: []item.Dump[item.Found[translation]]{item.List(&cnatapi.CnatTranslationDump{},
			func(d *cnatapi.CnatTranslationDetails) (item.Found[translation], bool) { return found(&d.Translation) })},
	},
	item.ObjectVariant[translation]{ // before 24.02
		Create: updateWithoutHash,
		Index:  translationIndex,
		Update: func(_ uint32, _, t translation) (request, reply api.Message) { return updateWithoutHash(t) },
		Remove: removal,
		Dumps: []item.Dump[item.Found[translation]]{item.List(&cnatapi.CnatTranslationDump{},
			func(d *cnatmsg.TranslationDetails) (item.Found[translation], bool) { return found(&d.Translation) })},
	})

var affinities = session.Step("CNAT translation: client affinity", session.Variant(struct{}{}, (*cnatapi.CnatTranslationUpdate)(nil)))

func update(t translation) (request, reply api.Message) {
	return &cnatapi.CnatTranslationUpdate{Translation: t.message()}, &cnatapi.CnatTranslationUpdateReply{}
}

func updateWithoutHash(t translation) (request, reply api.Message) {
	m := &cnatmsg.TranslationUpdate{}
	m.Translation = t.message()
	return m, &cnatapi.CnatTranslationUpdateReply{}
}

func translationIndex(reply api.Message) uint32 {
	return reply.(*cnatapi.CnatTranslationUpdateReply).ID
}

func removal(index uint32, _ translation) (request, reply api.Message) {
	return &cnatapi.CnatTranslationDel{ID: index}, &cnatapi.CnatTranslationDelReply{}
}

func (t translation) message() cnatapi.CnatTranslation {
	m := cnatapi.CnatTranslation{
		Vip: messageOf(t.vip, t.vip, t.port), IPProto: t.protocol, Flags: uint8(t.flags), LbType: t.balancing, NPaths: uint32(len(t.backends)),
	}
	if t.realIP {
		m.IsRealIP = 1
	}
	if t.affinity {
		m.FlowHashConfig = ip.IP_API_V2_FLOW_HASH_SRC_IP
	}
	for _, b := range t.backends {
		path := cnatapi.CnatEndpointTuple{DstEp: messageOf(b.address, t.vip, b.port), SrcEp: messageOf(b.source, t.vip, 0)}
		if b.noNAT {
			path.Flags = noNAT
		}
		m.Paths = append(m.Paths, path)
	}
	return m
}

// messageOf returns an endpoint; an invalid address is none of the version of IP of like.
func messageOf(addr, like netip.Addr, port uint16) cnatapi.CnatEndpoint {
	if !addr.IsValid() && like.Is6() {
		addr = netip.IPv6Unspecified()
	} else if !addr.IsValid() {
		addr = netip.IPv4Unspecified()
	}
	a := ipconv.Address(addr)
	return cnatapi.CnatEndpoint{Addr: a, IfAf: a.Af, SwIfIndex: interface_types.InterfaceIndex(item.NoInterface), Port: port}
}

// found is false for translations of other protocols, or with interfaces instead of addresses: none
// of the agent's.
func found(m *cnatapi.CnatTranslation) (item.Found[translation], bool) {
	t := translation{
		translationID: translationID{m.IPProto, ipconv.FromAddress(m.Vip.Addr), m.Vip.Port}, balancing: m.LbType,
	}
	ours := slices.Contains(slices.Collect(maps.Values(protocols)), m.IPProto) && uint32(m.Vip.SwIfIndex) == item.NoInterface
	for _, p := range m.Paths {
		ours = ours && uint32(p.DstEp.SwIfIndex) == item.NoInterface && uint32(p.SrcEp.SwIfIndex) == item.NoInterface
		b := backend{endpoint{address: ipconv.FromAddress(p.DstEp.Addr), port: p.DstEp.Port}, p.Flags&noNAT != 0}
		if source := ipconv.FromAddress(p.SrcEp.Addr); !source.IsUnspecified() {
			b.source = source
		}
		t.backends = append(t.backends, b)
	}
	return item.Found[translation]{Index: m.ID, Object: t}, ours
}

// NewTranslation describes translations. VPP changes the backends in place, but crashes or keeps
// others if one is listed more than once or changes its flags (cnat_translation_update of 26.06);
// it keeps the rest of a translation that exists.
func NewTranslation(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewObject(vpp, nil, item.Object[*cnat.Translation, translation, translationID]{
		Name: TranslationName, Model: TranslationModel, Operation: translations,
		Resolve:    resolveTranslation,
		ID:         func(t translation) translationID { return t.translationID },
		Value:      translationValue,
		Changeable: changeable,
		Check:      func(t translation) error { return check(vpp, t) },
		Assume: func(found, expected translation) translation {
			found.untold = expected.untold
			return found
		},
		Gone: []api.VPPApiError{api.NO_SUCH_ENTRY},
	})
}

// check refuses what older releases ignore.
func check(vpp *session.VPP, t translation) error {
	if t.affinity {
		if err := affinities.Check(vpp); err != nil {
			return fmt.Errorf("client_affinity: %w", err)
		}
	}
	if t.flags&noReturnSession == 0 {
		return nil
	}
	s, err := vpp.Session()
	if err == nil && !s.Quirks.HasEnumValue("cnat_translation_flags", "NO_RETURN_SESSION") {
		err = kvs.Unimplemented(errors.New("no_return_session: needs VPP 23.10 or newer"))
	}
	return err
}

func changeable(old, t translation) bool {
	before := map[endpoint]bool{}
	for _, b := range old.backends {
		before[b.endpoint] = b.noNAT
	}
	after := map[endpoint]bool{}
	for _, b := range t.backends {
		if flag, stays := before[b.endpoint]; stays && flag != b.noNAT {
			return false
		}
		after[b.endpoint] = true
	}
	weighted := len(before) != len(old.backends) || len(after) != len(t.backends)
	return !weighted && old.balancing == t.balancing && old.realIP == t.realIP && old.affinity == t.affinity
}

var protocols = map[cnat.Translation_Protocol]ip_types.IPProto{
	cnat.Translation_TCP: ip_types.IP_API_PROTO_TCP, cnat.Translation_UDP: ip_types.IP_API_PROTO_UDP, cnat.Translation_SCTP: ip_types.IP_API_PROTO_SCTP,
}

func resolveTranslation(r *item.Resolver, v *cnat.Translation) translation {
	r.Enum("protocol", v.GetProtocol())
	r.Enum("load_balancing", v.GetLoadBalancing())
	t := translation{
		translationID: translationID{
			protocols[v.GetProtocol()], ipconv.FromAddress(r.Host("vip", v.GetVip())), uint16(v.GetPort()),
		},
		balancing: cnatapi.CnatLbType(v.GetLoadBalancing()),
		untold:    untold{realIP: v.GetRealIp(), affinity: v.GetClientAffinity()},
	}
	if v.GetAllocateSourcePort() {
		t.flags |= cnatapi.CNAT_TRANSLATION_ALLOC_PORT
	}
	if v.GetNoReturnSession() {
		t.flags |= noReturnSession
	}
	seen := map[endpoint]int{}
	for i, b := range v.GetBackends() {
		field := fmt.Sprintf("backends[%d]", i)
		resolved, weight := resolveBackend(r, field, t, b)
		if first, twice := seen[resolved.endpoint]; twice {
			r.Fail(field, "is backends[%d] again; weight gives it a greater share", first)
		}
		seen[resolved.endpoint] = i
		t.backends = append(t.backends, slices.Repeat([]backend{resolved}, int(weight))...)
	}
	if n := len(t.backends); n > maxBackends {
		r.Fail("backends", "the sum of the weights is %d, expected at most %d", n, maxBackends)
	}
	return t
}

func resolveBackend(r *item.Resolver, field string, t translation, v *cnat.Translation_Backend) (b backend, weight uint32) {
	host := func(name, text string) netip.Addr {
		addr := ipconv.FromAddress(r.Host(field+"."+name, text))
		if r.Err() == nil && addr.Is4() != t.vip.Is4() {
			r.Fail(field+"."+name, "%s, expected the version of IP of vip, %s", addr, t.vip)
		}
		return addr
	}
	b = backend{endpoint{
		address: host("address", v.GetAddress()), port: uint16(v.GetPort()),
	}, v.GetNoNat()}
	if v.GetSourceAddress() != "" {
		b.source = host("source_address", v.GetSourceAddress())
	}
	if b.port == 0 {
		b.port = t.port
	}
	return b, max(1, v.GetWeight())
}

func translationValue(_ *item.Names, t translation) *cnat.Translation {
	v := &cnat.Translation{
		Vip: t.vip.String(), Port: uint32(t.port), RealIp: t.realIP, LoadBalancing: cnat.Translation_LoadBalancing(t.balancing),
		ClientAffinity: t.affinity, AllocateSourcePort: t.flags&cnatapi.CNAT_TRANSLATION_ALLOC_PORT != 0,
		NoReturnSession: t.flags&noReturnSession != 0,
	}
	for protocol, number := range protocols {
		if number == t.protocol {
			v.Protocol = protocol
		}
	}
	for i, b := range t.backends {
		last := len(v.Backends) - 1
		if i > 0 && b == t.backends[i-1] {
			v.Backends[last].Weight = max(1, v.Backends[last].Weight) + 1
			continue
		}
		out := &cnat.Translation_Backend{Address: b.address.String(), Port: uint32(b.port), NoNat: b.noNAT}
		if b.source.IsValid() {
			out.SourceAddress = b.source.String()
		}
		v.Backends = append(v.Backends, out)
	}
	return v
}
