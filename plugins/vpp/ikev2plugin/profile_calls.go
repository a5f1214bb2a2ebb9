//lint:file-ignore SA1019 IPsec interfaces are deprecated for IPIP tunnels, and protected as those are

package ikev2plugin

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	ikev2api "go.fd.io/govpp/binapi/ikev2"
	"go.fd.io/govpp/binapi/ikev2_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/lcp"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/ikev2msg"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ikev2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	ikev2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ikev2"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// profiles adds blank profiles; Complete then sends the rest.
var profiles = item.Declare("IKEv2 profile", vppPlugin,
	item.Variant[profile]{
		Change: addProfile,
		Dumps: []item.Dump[profile]{item.List(&ikev2api.Ikev2ProfileDump{}, func(d *ikev2msg.ProfileDetailsV2606) (profile, bool) {
			return profileOf(&d.ProfileDetails)
		})},
	},
	item.Variant[profile]{
		Change: addProfile,
		Dumps:  []item.Dump[profile]{item.List(&ikev2api.Ikev2ProfileDump{}, profileOf)},
	},
)

func addProfile(p profile, add bool) (request, reply api.Message) {
	return &ikev2api.Ikev2ProfileAddDel{Name: p.name, IsAdd: add}, &ikev2api.Ikev2ProfileAddDelReply{}
}

// prfSHA256 is the pseudo-random function that VPP has proposed in all releases.
const prfSHA256 = 5

// ikeTransforms make the request that sets the transforms of the key exchange.
var ikeTransforms = session.Step("IKEv2 profile: IKE transforms",
	session.Variant(func(m ikev2api.Ikev2SetIkeTransforms) api.Message {
		return &ikev2msg.SetIkeTransforms{Ikev2SetIkeTransforms: m, PRF: prfSHA256}
	}, &ikev2msg.SetIkeTransforms{}, &ikev2api.Ikev2SetIkeTransformsReply{}),
	session.Variant(func(m ikev2api.Ikev2SetIkeTransforms) api.Message { return &m },
		&ikev2api.Ikev2SetIkeTransforms{}, &ikev2api.Ikev2SetIkeTransformsReply{}),
)

// profileCalls change profiles that exist.
type profileCalls struct {
	vpp *session.VPP
	ifs item.Interfaces
}

// NewProfile describes profiles. VPP has a blank profile after the first request; one request
// sets each part of it. What it has of a profile it lists, with the secret. It cannot take back
// some parts, and forgets to clear the public key of a certificate when a secret comes in its
// place, which it frees twice then: such changes make the profile again.
func NewProfile(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	c := &profileCalls{vpp, ifs}
	d := item.NewEntry(vpp, ifs, item.Entry[*ikev2.Profile, profile, string]{
		Name: ProfileName, Model: model.ProfileModel, Operation: profiles,
		Resolve: resolveProfile, Value: profileValue,
		ID:         func(p profile) string { return p.name },
		Equal:      c.equal,
		Changeable: changeable,
		Update:     c.updateAll,
		Check:      c.check,
		Complete:   c.complete,
		Exists:     []api.VPPApiError{api.UNSPECIFIED}, // VPP refuses for no other reason
	})
	remove := d.DeleteBatch
	d.DeleteBatch = func(ctx context.Context, values []kvs.KVBatchValue) []kvs.KVBatchResult {
		results := remove(ctx, values)
		c.ignoreMissing(ctx, values, results)
		for i := range results {
			if results[i].Err == nil {
				c.forget(values[i].Old.(*ikev2.Profile).GetName())
			}
		}
		return results
	}
	retrieve := d.RetrieveContext
	d.RetrieveContext = func(ctx context.Context, correlate []kvs.KVWithMetadata) ([]kvs.KVWithMetadata, error) {
		found, err := retrieve(ctx, correlate)
		if err != nil {
			return nil, err
		}
		return found, c.correctInitiated(ctx, found)
	}
	return d
}

// listNames reads the names of all profiles.
var listNames = session.Step("IKEv2 profile: names",
	session.Variant(namesFrom(func(d *ikev2msg.ProfileDetailsV2606) string { return d.Profile.Name }),
		&ikev2api.Ikev2ProfileDump{}, &ikev2msg.ProfileDetailsV2606{}),
	session.Variant(namesFrom(func(d *ikev2msg.ProfileDetails) string { return d.Profile.Name }),
		&ikev2api.Ikev2ProfileDump{}, &ikev2msg.ProfileDetails{}),
)

type names func(ctx context.Context, vpp *session.VPP) (map[string]bool, error)

func namesFrom[D api.Message](name func(D) string) names {
	return func(ctx context.Context, vpp *session.VPP) (map[string]bool, error) {
		all := map[string]bool{}
		err := session.Each(ctx, vpp, &ikev2api.Ikev2ProfileDump{}, func(d D) { all[name(d)] = true })
		return all, err
	}
}

// ignoreMissing takes profiles that VPP does not have for deleted. VPP refuses to delete them
// with the answer that it has for everything.
func (c *profileCalls) ignoreMissing(ctx context.Context, values []kvs.KVBatchValue, results []kvs.KVBatchResult) {
	for i := range results {
		if !errors.Is(results[i].Err, api.UNSPECIFIED) {
			continue
		}
		list, err := listNames.On(c.vpp)
		if err != nil {
			continue
		}
		if all, err := list(ctx, c.vpp); err == nil && !all[values[i].Old.(*ikev2.Profile).GetName()] {
			results[i].Err = nil
		}
	}
}

// equal leaves out what VPP does not report, if one of both is from VPP.
func (c *profileCalls) equal(a, b profile) bool {
	a.auth.hex, b.auth.hex = false, false
	if a.listed == b.listed {
		return a == b
	}
	if a.listed {
		a, b = b, a
	}
	if a.responder.hostname != "" {
		b.responder.hostname = c.noted(a.name).hostname
		if b.responder.hostname == "" {
			b.responder.hostname = a.responder.hostname
		}
		b.responder.address = ip_types.Address{}
	}
	b.initiate, b.listed = a.initiate, false
	return a == b
}

// changeable reports that VPP can change a profile in place, so that it can be used. One that
// initiates has an SA of the old values, or waits for an answer to them; a tunnel has the
// encapsulation of its SA.
func changeable(old, p profile) bool {
	takesBack := old.auth.method == rsaSignature && p.auth.method != rsaSignature || old.nattOff && !p.nattOff
	if takesBack || p.initiate && !sameHandshake(old, p) {
		return false
	}
	same := old
	same.auth, same.lifetime, same.initiate, same.listed, same.nattOff = p.auth, p.lifetime, p.initiate, p.listed, p.nattOff
	same.here, same.there, same.ike, same.esp = p.here, p.there, p.ike, p.esp
	if old.responder.hostname == "" && p.responder.hostname == "" {
		same.responder = p.responder
	}
	if p.local.typ != 0 {
		same.local = p.local
	}
	if p.remote.typ != 0 {
		same.remote = p.remote
	}
	if !p.udpEncap {
		same.udpPort = p.udpPort
	}
	return same == p
}

// sameHandshake reports that two profiles differ only in what does not matter for an SA that
// exists, or for a request that VPP repeats.
func sameHandshake(old, p profile) bool {
	old.auth, old.lifetime, old.initiate, old.listed = p.auth, p.lifetime, p.initiate, p.listed
	return old == p
}

// natPort is the port of packets in UDP, of the tunnel and of the key exchange.
const natPort = 4500

// check refuses what VPP does not refuse, or only when it has keys. IKEv2 makes packets to UDP port
// 4500 its own when the first profile is added, and the IPsec of VPP then does the same for packets
// without the marker of IKEv2, unless it has done so before: for linux-cp, when VPP starts.
func (c *profileCalls) check(_ context.Context, v *ikev2.Profile, p profile) error {
	m, ok := c.ifs.LookupByName(v.GetTunnelInterface())
	switch {
	case !ok:
	case m.Type == interfaces.Interface_IPIP_TUNNEL:
	case m.Type != interfaces.Interface_IPSEC_TUNNEL:
		return item.Invalid("tunnel_interface", "%q is a %s, expected an IPIP or IPsec tunnel", v.GetTunnelInterface(), m.Type)
	case !p.udpEncap:
		return item.Invalid("udp_encap", "false, expected true with the IPsec interface %q", v.GetTunnelInterface())
	}
	if p.udpEncap && (p.udpPort == noPort || p.udpPort == natPort) && c.vpp.Has(&lcp.LcpItfPairAddDelV2{}) {
		return item.Invalid("udp_port", "%d, expected another port, at both ends: VPP has the plugin linux-cp, with which "+
			"it takes packets to port %d for packets of the key exchange", v.GetUdpPort(), natPort)
	}
	return nil
}

// complete makes a blank profile the wanted one. If VPP refuses, no profile is left.
func (c *profileCalls) complete(ctx context.Context, p profile) error {
	err := c.send(ctx, blank(p.name), p)
	if err == nil && p.initiate {
		err = c.vpp.Call(ctx, &ikev2api.Ikev2InitiateSaInit{Name: p.name}, &ikev2api.Ikev2InitiateSaInitReply{})
		if errors.Is(err, api.UNSPECIFIED) {
			err = fmt.Errorf("responder: VPP cannot initiate, the hostname may need its DNS resolver: %w", err)
		}
	}
	if err == nil {
		err = c.note(p, false)
	}
	if err != nil {
		_ = c.remove(ctx, p) // a profile that stays is read back
	}
	return err
}

func (c *profileCalls) remove(ctx context.Context, p profile) error {
	request, reply := addProfile(p, false)
	return c.vpp.Call(ctx, request, reply)
}

// send sends what differs between two profiles of the same name.
func (c *profileCalls) send(ctx context.Context, old, p profile) error {
	steps, err := c.steps(old, p)
	if err != nil {
		return err
	}
	requests, replies := make([]api.Message, len(steps)), make([]api.Message, len(steps))
	for i, s := range steps {
		requests[i], replies[i] = s.request, s.reply
	}
	var errs []error
	for i, err := range c.vpp.CallAll(ctx, requests, replies) {
		if errors.Is(err, api.UNSPECIFIED) && steps[i].refused != "" {
			err = fmt.Errorf("%s: %w", steps[i].refused, err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// step is a request that sets a part of a profile, and what it means if VPP refuses it.
type step struct {
	request, reply api.Message
	refused        string
}

func (c *profileCalls) steps(old, p profile) (all []step, err error) {
	add := func(differs bool, request, reply api.Message, refused string) {
		if differs {
			all = append(all, step{request, reply, refused})
		}
	}
	add(old.auth != p.auth, &ikev2api.Ikev2ProfileSetAuth{Name: p.name, AuthMethod: p.auth.method, IsHex: p.auth.hex, Data: []byte(p.auth.data)},
		&ikev2api.Ikev2ProfileSetAuthReply{}, "auth.certificate_file: VPP cannot read a certificate from it")
	add(old.local != p.local, &ikev2api.Ikev2ProfileSetID{Name: p.name, IsLocal: true, IDType: p.local.typ, Data: []byte(p.local.data)},
		&ikev2api.Ikev2ProfileSetIDReply{}, "local_id")
	add(old.remote != p.remote, &ikev2api.Ikev2ProfileSetID{Name: p.name, IDType: p.remote.typ, Data: []byte(p.remote.data)},
		&ikev2api.Ikev2ProfileSetIDReply{}, "remote_id")
	add(old.here != p.here, &ikev2api.Ikev2ProfileSetTs{Name: p.name, Ts: p.here.message(true)}, &ikev2api.Ikev2ProfileSetTsReply{}, "local_ts")
	add(old.there != p.there, &ikev2api.Ikev2ProfileSetTs{Name: p.name, Ts: p.there.message(false)}, &ikev2api.Ikev2ProfileSetTsReply{}, "remote_ts")
	if old.ike != p.ike {
		request, err := ikeTransforms.On(c.vpp)
		if err != nil {
			return nil, err
		}
		add(true, request(ikev2api.Ikev2SetIkeTransforms{Name: p.name, Tr: ikev2_types.Ikev2IkeTransforms{
			CryptoAlg: p.ike.encryption, CryptoKeySize: p.ike.bits, IntegAlg: p.ike.integrity, DhGroup: p.ike.group,
		}}), &ikev2api.Ikev2SetIkeTransformsReply{}, "ike")
	}
	add(old.esp != p.esp, &ikev2api.Ikev2SetEspTransforms{Name: p.name, Tr: ikev2_types.Ikev2EspTransforms{
		CryptoAlg: p.esp.encryption, CryptoKeySize: p.esp.bits, IntegAlg: p.esp.integrity,
	}}, &ikev2api.Ikev2SetEspTransformsReply{}, "esp")
	add(old.lifetime != p.lifetime, &ikev2api.Ikev2SetSaLifetime{
		Name: p.name, Lifetime: p.lifetime.seconds, LifetimeJitter: p.lifetime.jitter, Handover: p.lifetime.handover, LifetimeMaxdata: p.lifetime.bytes,
	}, &ikev2api.Ikev2SetSaLifetimeReply{}, "lifetime")
	add(old.responder != p.responder && p.responder.hostname != "", &ikev2api.Ikev2SetResponderHostname{
		Name: p.name, Hostname: p.responder.hostname, SwIfIndex: p.responder.iface,
	}, &ikev2api.Ikev2SetResponderHostnameReply{}, "responder")
	add(old.responder != p.responder && p.responder.hostname == "", &ikev2api.Ikev2SetResponder{
		Name: p.name, Responder: ikev2_types.Ikev2Responder{SwIfIndex: p.responder.iface, Addr: p.responder.address},
	}, &ikev2api.Ikev2SetResponderReply{}, "responder")
	return append(all, encapsulation(old, p)...), nil
}

// encapsulation are the steps for the packets in the tunnel.
func encapsulation(old, p profile) (all []step) {
	if old.tunnel != p.tunnel {
		all = append(all, step{&ikev2api.Ikev2SetTunnelInterface{Name: p.name, SwIfIndex: p.tunnel}, &ikev2api.Ikev2SetTunnelInterfaceReply{}, ""})
	}
	if p.udpEncap && !old.udpEncap {
		all = append(all, step{&ikev2api.Ikev2ProfileSetUDPEncap{Name: p.name}, &ikev2api.Ikev2ProfileSetUDPEncapReply{}, ""})
	}
	if p.nattOff && !old.nattOff {
		all = append(all, step{&ikev2api.Ikev2ProfileDisableNatt{Name: p.name}, &ikev2api.Ikev2ProfileDisableNattReply{}, ""})
	}
	if old.udpPort == p.udpPort {
		return all
	}
	port := func(set bool, port uint16) {
		request := &ikev2api.Ikev2ProfileSetIpsecUDPPort{Name: p.name, Port: port}
		if set {
			request.IsSet = 1
		}
		all = append(all, step{request, &ikev2api.Ikev2ProfileSetIpsecUDPPortReply{}, ""})
	}
	if old.udpPort != noPort {
		port(false, old.udpPort)
	}
	if p.udpPort != noPort {
		port(true, p.udpPort)
	}
	return all
}

func (s selector) message(local bool) ikev2_types.Ikev2Ts {
	return ikev2_types.Ikev2Ts{
		IsLocal: local, ProtocolID: s.protocol, StartPort: s.startPort, EndPort: s.endPort, StartAddr: s.startAddr, EndAddr: s.lastAddr,
	}
}

func (c *profileCalls) updateAll(ctx context.Context, old, all []profile) []error {
	errs := make([]error, len(all))
	for i := range all {
		errs[i] = c.update(ctx, old[i], all[i])
	}
	return errs
}

// update changes a profile in place, except one that begins to initiate, or ends it, without an
// SA: VPP may repeat a request that an agent before this one has caused.
func (c *profileCalls) update(ctx context.Context, old, p profile) error {
	up := c.noted(p.name).up
	if old.initiate != p.initiate {
		established, err := c.established(ctx)
		if err != nil {
			return err
		}
		if up = established(p.local, p.remote) == agreed; !up {
			if err := c.remove(ctx, p); err != nil && !errors.Is(err, api.UNSPECIFIED) {
				return err
			}
			request, reply := addProfile(p, true)
			if err := c.vpp.Call(ctx, request, reply); err != nil {
				return err
			}
			return c.complete(ctx, p)
		}
	}
	if err := c.send(ctx, old, p); err != nil {
		return err
	}
	return c.note(p, up)
}

// correctInitiated finds the profiles among those that should initiate which are not active in VPP:
// it has no SA, and repeats no request that the agent knows of.
func (c *profileCalls) correctInitiated(ctx context.Context, found []kvs.KVWithMetadata) error {
	var established func(local, remote identity) progress
	for i, kv := range found {
		v, ok := kv.Value.(*ikev2.Profile)
		if !ok || !v.GetInitiate() {
			continue
		}
		if established == nil {
			var err error
			if established, err = c.established(ctx); err != nil {
				return err
			}
		}
		p := resolveProfile(&item.Resolver{}, v)
		if !c.active(p.name, established(p.local, p.remote)) {
			found[i].Value = proto.Clone(v)
			found[i].Value.(*ikev2.Profile).Initiate = false
		}
	}
	return nil
}
