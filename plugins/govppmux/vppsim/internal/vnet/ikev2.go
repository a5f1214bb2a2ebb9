package vnet

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/ikev2msg"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ikev2"
	"go.fd.io/govpp/binapi/ikev2_types"
	"go.fd.io/govpp/binapi/ip_types"
)

// ikev2Profile is a profile as VPP lists it. VPP asks the peer again until it answers, which
// peers do with IKEv2Peer only.
type ikev2Profile struct {
	ikev2_types.Ikev2Profile
	prf      uint8
	hostname string
	resolved bool
	pending  int // requests that are repeated
}

// ikev2SA is a security association with keys for packets.
type ikev2SA struct {
	*ikev2Profile
	initiator bool
}

// ikev2s is IKEv2 (src/plugins/ikev2/ikev2.c).
type ikev2s struct {
	*VNet
	profiles        pool[ikev2Profile]
	sas             pool[ikev2SA]
	interval        float64
	period, retries uint32
	key             bool
}

// Numbers of RFC 7296.
const (
	ikeRSA       = 1
	ikeAESGCM    = 20
	ikeMaxData   = 1024
	ikeIPv4ID    = 1
	ikeNoUDPPort = math.MaxUint16
)

func newIkev2s(n *VNet) feature {
	n.ikev2s = &ikev2s{VNet: n}
	return n.ikev2s
}

func (k *ikev2s) register(server *wire.Server) {
	handle[ikev2.Ikev2ProfileAddDelReply](server, k.addDel)
	handle[ikev2.Ikev2ProfileSetAuthReply](server, k.setAuth)
	handle[ikev2.Ikev2ProfileSetIDReply](server, k.setID)
	handle[ikev2.Ikev2SetTunnelInterfaceReply](server, func(req *ikev2.Ikev2SetTunnelInterface) retval {
		if k.byIndex(req.SwIfIndex) == nil {
			return api.INVALID_SW_IF_INDEX
		}
		return k.change(req.Name, func(p *ikev2Profile) { p.TunItf = uint32(req.SwIfIndex) })
	})
	handle[ikev2.Ikev2SetIkeTransformsReply](server, func(req *ikev2.Ikev2SetIkeTransforms) retval {
		return k.setTransforms(req, 0)
	})
	handle[ikev2.Ikev2SetIkeTransformsReply](server, func(req *ikev2msg.SetIkeTransforms) retval {
		return k.setTransforms(&req.Ikev2SetIkeTransforms, req.PRF)
	})
	handle[ikev2.Ikev2ProfileSetIpsecUDPPortReply](server, k.setPort)
	handle[ikev2.Ikev2InitiateSaInitReply](server, k.initiate)
	k.registerChanges(server)
	k.registerSettings(server)
	wire.HandleDump(server, func(c *wire.Call, _ *ikev2.Ikev2ProfileDump) {
		for _, p := range k.profiles.all() {
			d := ikev2msg.ProfileDetails{Ikev2ProfileDetails: ikev2.Ikev2ProfileDetails{Profile: p.Ikev2Profile}}
			if k.before("26.06") {
				c.Send(&d)
			} else {
				c.Send(&ikev2msg.ProfileDetailsV2606{ProfileDetails: d, PRF: p.prf})
			}
		}
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ikev2.Ikev2SaDump) {
		for index, s := range k.sas.all() {
			c.Send(s.details(index))
		}
	})
	wire.HandleDump(server, func(c *wire.Call, req *ikev2.Ikev2ChildSaDump) {
		if k.sas.at(req.SaIndex) != nil {
			c.Send(&ikev2.Ikev2ChildSaDetails{ChildSa: ikev2_types.Ikev2ChildSa{SaIndex: req.SaIndex, ISpi: 1, RSpi: 2}})
		}
	})
}

// registerChanges registers the requests that VPP takes whatever they say.
func (k *ikev2s) registerChanges(server *wire.Server) {
	handle[ikev2.Ikev2ProfileSetUDPEncapReply](server, func(req *ikev2.Ikev2ProfileSetUDPEncap) retval {
		return k.change(req.Name, func(p *ikev2Profile) { p.UDPEncap = true })
	})
	handle[ikev2.Ikev2ProfileDisableNattReply](server, func(req *ikev2.Ikev2ProfileDisableNatt) retval {
		return k.change(req.Name, func(p *ikev2Profile) { p.NattDisabled = true })
	})
	handle[ikev2.Ikev2ProfileSetTsReply](server, func(req *ikev2.Ikev2ProfileSetTs) retval {
		t := req.Ts
		if t.StartAddr.Af != t.EndAddr.Af {
			return api.UNSPECIFIED
		}
		t.SaIndex, t.ChildSaIndex = 0, 0
		return k.change(req.Name, func(p *ikev2Profile) {
			if t.IsLocal {
				p.LocTs = t
			} else {
				p.RemTs = t
			}
		})
	})
	handle[ikev2.Ikev2SetEspTransformsReply](server, func(req *ikev2.Ikev2SetEspTransforms) retval {
		return k.change(req.Name, func(p *ikev2Profile) { p.EspTs = req.Tr })
	})
	handle[ikev2.Ikev2SetSaLifetimeReply](server, func(req *ikev2.Ikev2SetSaLifetime) retval {
		return k.change(req.Name, func(p *ikev2Profile) {
			p.Lifetime, p.LifetimeJitter, p.Handover, p.LifetimeMaxdata = req.Lifetime, req.LifetimeJitter, req.Handover, req.LifetimeMaxdata
		})
	})
	handle[ikev2.Ikev2SetResponderReply](server, func(req *ikev2.Ikev2SetResponder) retval {
		return k.change(req.Name, func(p *ikev2Profile) { p.Responder, p.resolved = req.Responder, true })
	})
	handle[ikev2.Ikev2SetResponderHostnameReply](server, func(req *ikev2.Ikev2SetResponderHostname) retval {
		return k.change(req.Name, func(p *ikev2Profile) {
			p.Responder.SwIfIndex, p.hostname, p.resolved = req.SwIfIndex, req.Hostname, false
		})
	})
}

func (k *ikev2s) registerSettings(server *wire.Server) {
	handle[ikev2.Ikev2ProfileSetLivenessReply](server, func(req *ikev2.Ikev2ProfileSetLiveness) retval {
		if req.Period == 0 || req.MaxRetries == 0 {
			return api.UNSPECIFIED
		}
		k.period, k.retries = req.Period, req.MaxRetries
		return ok
	})
	handle[ikev2.Ikev2PluginSetSleepIntervalReply](server, func(req *ikev2.Ikev2PluginSetSleepInterval) retval {
		if req.Timeout == 0 {
			return api.UNSPECIFIED
		}
		k.interval = req.Timeout
		return ok
	})
	wire.Handle(server, func(*wire.Call, *ikev2.Ikev2GetSleepInterval) *ikev2.Ikev2GetSleepIntervalReply {
		return &ikev2.Ikev2GetSleepIntervalReply{SleepInterval: k.interval}
	})
	handle[ikev2.Ikev2SetLocalKeyReply](server, func(req *ikev2.Ikev2SetLocalKey) retval {
		if k.key = readable(req.KeyFile, "PRIVATE KEY"); !k.key {
			return api.UNSPECIFIED
		}
		return ok
	})
}

func (k *ikev2s) reset() { *k = ikev2s{VNet: k.VNet, interval: 2, period: 30, retries: 3} }

func (k *ikev2s) named(name string) (uint32, *ikev2Profile) {
	return k.profiles.find(func(p *ikev2Profile) bool { return p.Name == name })
}

func (k *ikev2s) change(name string, change func(p *ikev2Profile)) retval {
	_, p := k.named(name)
	if p == nil {
		return api.UNSPECIFIED
	}
	change(p)
	return ok
}

func (k *ikev2s) addDel(req *ikev2.Ikev2ProfileAddDel) retval {
	index, p := k.named(req.Name)
	switch {
	case req.IsAdd == (p != nil):
		return api.UNSPECIFIED
	case req.IsAdd:
		p = &ikev2Profile{}
		p.Name, p.IpsecOverUDPPort, p.TunItf, p.Responder.SwIfIndex = req.Name, ikeNoUDPPort, none, noInterface
		p.LocTs.IsLocal = true
		k.profiles.add(p)
	default:
		k.endSAs(p)
		k.profiles.remove(index)
	}
	return ok
}

func (k *ikev2s) endSAs(p *ikev2Profile) {
	for index, s := range k.sas.all() {
		if s.ikev2Profile == p {
			k.sas.remove(index)
		}
	}
	p.pending = 0
}

// setAuth keeps the path of a certificate that it cannot read.
func (k *ikev2s) setAuth(req *ikev2.Ikev2ProfileSetAuth) retval {
	if len(req.Data) == 0 || len(req.Data) > ikeMaxData {
		return api.INVALID_VALUE
	}
	read := true
	rv := k.change(req.Name, func(p *ikev2Profile) {
		p.Auth = ikev2_types.Ikev2Auth{Method: req.AuthMethod, Data: req.Data}
		if req.IsHex {
			p.Auth.Hex = 1
		}
		if req.AuthMethod == ikeRSA {
			read = readable(string(req.Data), "CERTIFICATE")
			p.Auth.Data = append(append([]byte{}, req.Data...), 0)
		}
	})
	if !read {
		return api.UNSPECIFIED
	}
	return rv
}

// readable reports that a file has something that PEM calls what.
func readable(file, what string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	block, _ := pem.Decode(text)
	if block == nil || !strings.HasSuffix(block.Type, what) {
		return false
	}
	_, err = x509.ParseCertificate(block.Bytes)
	return err == nil || what != "CERTIFICATE"
}

// setID keeps what VPP lists of an identity: at most 63 bytes.
func (k *ikev2s) setID(req *ikev2.Ikev2ProfileSetID) retval {
	known := req.IDType >= ikeIPv4ID && req.IDType <= 3 || req.IDType == 5
	switch {
	case len(req.Data) == 0 || len(req.Data) > ikeMaxData:
		return api.INVALID_VALUE
	case !known:
		return api.UNSPECIFIED
	}
	data := req.Data[:min(len(req.Data), 63)]
	id := ikev2_types.Ikev2ID{Type: req.IDType, DataLen: uint8(len(data)), Data: string(data)}
	return k.change(req.Name, func(p *ikev2Profile) {
		if req.IsLocal {
			p.LocID = id
		} else {
			p.RemID = id
		}
	})
}

func (k *ikev2s) setTransforms(req *ikev2.Ikev2SetIkeTransforms, prf uint8) retval {
	if (req.Tr.IntegAlg != 0) == (req.Tr.CryptoAlg == ikeAESGCM) {
		return api.UNSPECIFIED
	}
	return k.change(req.Name, func(p *ikev2Profile) { p.IkeTs, p.prf = req.Tr, prf })
}

func (k *ikev2s) setPort(req *ikev2.Ikev2ProfileSetIpsecUDPPort) retval {
	_, p := k.named(req.Name)
	switch {
	case p == nil:
		return api.INVALID_VALUE
	case req.IsSet == 0 && p.IpsecOverUDPPort == ikeNoUDPPort:
		return api.INVALID_VALUE
	case req.IsSet == 0:
		p.IpsecOverUDPPort = ikeNoUDPPort
	case p.IpsecOverUDPPort != ikeNoUDPPort:
		return api.VALUE_EXIST
	default:
		p.IpsecOverUDPPort = req.Port
	}
	return ok
}

// initiate has one request more repeated each time. A host name is looked up later if the DNS
// resolver is on.
func (k *ikev2s) initiate(req *ikev2.Ikev2InitiateSaInit) retval {
	_, p := k.named(req.Name)
	switch {
	case p == nil, p.Responder.SwIfIndex == noInterface, p.IkeTs.DhGroup == 0:
		return api.UNSPECIFIED
	case p.Responder.Addr == ip_types.Address{} && p.hostname == "":
		return api.UNSPECIFIED
	case !p.resolved && !k.dns.enabled:
		return api.UNSPECIFIED
	}
	p.pending++
	return ok
}

// interfaceRemoved ends the associations of profiles that initiate from a removed interface.
func (k *ikev2s) interfaceRemoved(i *swInterface) {
	for _, p := range k.profiles.all() {
		if uint32(p.Responder.SwIfIndex) == i.index {
			p.Responder.SwIfIndex = noInterface
			k.endSAs(p)
		}
	}
}

func (s *ikev2SA) details(index uint32) *ikev2.Ikev2SaDetails {
	initiator, responder := s.LocID, s.RemID
	if !s.initiator {
		initiator, responder = responder, initiator
	}
	return &ikev2.Ikev2SaDetails{Sa: ikev2_types.Ikev2Sa{SaIndex: index, Ispi: 1, Rspi: 2, IID: initiator, RID: responder}}
}

// IKEv2Peer makes a security association with the peer of a profile: the one that VPP asks for, or
// one that the peer asks for. Otherwise the peer ends the associations of the profile.
func (n *VNet) IKEv2Peer(profile string, up bool) error {
	_, p := n.ikev2s.named(profile)
	switch {
	case p == nil:
		return fmt.Errorf("no IKEv2 profile %q", profile)
	case !up:
		n.ikev2s.endSAs(p)
	default:
		initiated := p.pending > 0
		p.pending = max(p.pending-1, 0)
		n.ikev2s.sas.add(&ikev2SA{p, initiated})
	}
	return nil
}

func (k *ikev2s) dump(b *strings.Builder) {
	var lines []string
	for _, p := range k.profiles.all() {
		lines = append(lines, fmt.Sprintf("ikev2 profile %s auth %d %x local %d %x %s remote %d %x %s responder %s %q on %s ike %v group %d esp %v life %d %d %d %d tunnel %s port %d udp %t natt %t pending %d\n",
			p.Name, p.Auth.Method, p.Auth.Data, p.LocID.Type, p.LocID.Data, ikev2TS(p.LocTs), p.RemID.Type, p.RemID.Data, ikev2TS(p.RemTs),
			addrOf(p.Responder.Addr), p.hostname, k.orStaleIf(uint32(p.Responder.SwIfIndex)), p.IkeTs, p.prf, p.EspTs,
			p.Lifetime, p.LifetimeJitter, p.Handover, p.LifetimeMaxdata, k.orStaleIf(p.TunItf), p.IpsecOverUDPPort, p.UDPEncap, !p.NattDisabled, p.pending))
	}
	for _, s := range k.sas.all() {
		lines = append(lines, fmt.Sprintf("ikev2 sa of %s initiated %t\n", s.Name, s.initiator))
	}
	if k.period != 30 || k.retries != 3 || k.interval != 2 {
		lines = append(lines, fmt.Sprintf("ikev2 liveness %d %d interval %g\n", k.period, k.retries, k.interval))
	}
	dumpSorted(b, lines)
}

func ikev2TS(t ikev2_types.Ikev2Ts) string {
	return fmt.Sprintf("%s-%s/%d/%d-%d", addrOf(t.StartAddr), addrOf(t.EndAddr), t.ProtocolID, t.StartPort, t.EndPort)
}
