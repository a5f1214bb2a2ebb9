package descriptor

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A WIREGUARD is an encrypted tunnel to peers. The kernel makes it or, if the kernel lacks
// the module and the agent is configured so, the program wireguard-go. What WireGuard learns by itself, the
// endpoint of a peer and its own port if none is configured, is no difference.

const wireGuardMTU = 1420

func wireGuardSpec() spec {
	return spec{
		typ:      interfaces.Interface_WIREGUARD,
		traits:   traits{mtu: wireGuardMTU, packets: true},
		field:    "wireguard",
		required: true,
		program:  func(d Deps) string { return d.WireguardGo },
		check:    func(v *interfaces.Interface) error { return checkWireGuard(v.GetWireguard()) },
		params:   func(v *interfaces.Interface) netlinkapi.LinkParams { return wireGuardParams(v.GetWireguard()) },
		fill: func(v *interfaces.Interface, p netlinkapi.LinkParams, _ string) bool {
			w, ok := p.(netlinkapi.WireGuard)
			v.Link = &interfaces.Interface_Wireguard{Wireguard: wireGuardValue(w)}
			return ok
		},
		learned: func(v, want *interfaces.Interface) { keepLearned(v.GetWireguard(), want.GetWireguard()) },
	}
}

// parseKey parses a key; zero if it is empty.
func parseKey(text string) (key netlinkapi.WireGuardKey, err error) {
	if text == "" {
		return key, nil
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(data) != len(key) {
		return key, errors.New("expected 44 characters of base64, as \"wg genkey\" prints")
	}
	return netlinkapi.WireGuardKey(data), nil
}

// keyText is the inverse of parseKey.
func keyText(key netlinkapi.WireGuardKey) string {
	if key == (netlinkapi.WireGuardKey{}) {
		return ""
	}
	return base64.StdEncoding.EncodeToString(key[:])
}

func checkWireGuard(w *interfaces.WireguardLink) error {
	var errs []error
	checkKey := func(field, text string, required bool) {
		if key, err := parseKey(text); err != nil { // keys are not shown
			errs = append(errs, invalid(field, "%w", err))
		} else if required && key == (netlinkapi.WireGuardKey{}) {
			errs = append(errs, invalid(field, "missing; expected a key"))
		}
	}
	checkKey("wireguard.private_key", w.GetPrivateKey(), true)
	known, allowed := map[string]bool{}, map[netip.Prefix]string{}
	for i, p := range w.GetPeers() {
		field := fmt.Sprintf("wireguard.peers[%d]", i)
		checkKey(field+".public_key", p.GetPublicKey(), true)
		checkKey(field+".preshared_key", p.GetPresharedKey(), false)
		if known[p.GetPublicKey()] {
			errs = append(errs, invalid(field+".public_key", "%q again; expected each peer once", p.GetPublicKey()))
		}
		known[p.GetPublicKey()] = true
		errs = append(errs, checkPeer(field, p, allowed))
	}
	return errors.Join(errs...)
}

// checkPeer checks a peer but for its keys; allowed has the networks of all peers with their
// fields.
func checkPeer(field string, p *interfaces.WireguardPeer, allowed map[netip.Prefix]string) error {
	var errs []error
	if text := p.GetEndpoint(); text != "" {
		if a, err := netip.ParseAddrPort(text); err != nil || a.Port() == 0 || a.Addr().IsUnspecified() {
			errs = append(errs, invalid(field+".endpoint", "%q; expected an IP address and a port, such as 10.0.0.2:51820", text))
		}
	}
	for i, text := range p.GetAllowedIps() {
		field := fmt.Sprintf("%s.allowed_ips[%d]", field, i)
		n, _ := netip.ParsePrefix(text) // its annotation was checked
		switch {
		case n != n.Masked():
			errs = append(errs, invalid(field, "%q has host bits; expected %s", text, n.Masked()))
		case allowed[n] != "":
			errs = append(errs, invalid(field, "%q is in %s, too; expected it with one peer", text, allowed[n]))
		default:
			allowed[n] = field
		}
	}
	return errors.Join(errs...)
}

// wireGuardParams converts a value that was validated.
func wireGuardParams(w *interfaces.WireguardLink) netlinkapi.WireGuard {
	key := func(text string) netlinkapi.WireGuardKey {
		k, _ := parseKey(text) // checkWireGuard
		return k
	}
	var peers []netlinkapi.WireGuardPeer
	for _, p := range w.GetPeers() {
		peer := netlinkapi.WireGuardPeer{
			PublicKey: key(p.GetPublicKey()), PresharedKey: key(p.GetPresharedKey()), Keepalive: uint16(p.GetPersistentKeepalive()),
		}
		if a, err := netip.ParseAddrPort(p.GetEndpoint()); err == nil {
			peer.Endpoint = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
		}
		for _, text := range p.GetAllowedIps() {
			if n, err := netip.ParsePrefix(text); err == nil {
				peer.AllowedIPs = append(peer.AllowedIPs, n)
			}
		}
		peers = append(peers, peer)
	}
	private := key(w.GetPrivateKey())
	if private != (netlinkapi.WireGuardKey{}) { // WireGuard keeps these bits for itself
		private[0], private[31] = private[0]&^7, private[31]&127|64
	}
	return netlinkapi.NewWireGuard(private, uint16(w.GetListenPort()), w.GetFwmark(), peers)
}

// wireGuardValue is the inverse of wireGuardParams.
func wireGuardValue(w netlinkapi.WireGuard) *interfaces.WireguardLink {
	v := &interfaces.WireguardLink{PrivateKey: keyText(w.PrivateKey), ListenPort: uint32(w.ListenPort), Fwmark: w.Mark}
	for _, p := range w.Peers() {
		peer := &interfaces.WireguardPeer{
			PublicKey: keyText(p.PublicKey), PresharedKey: keyText(p.PresharedKey), PersistentKeepalive: uint32(p.Keepalive),
		}
		if p.Endpoint.IsValid() {
			peer.Endpoint = p.Endpoint.String()
		}
		for _, n := range p.AllowedIPs {
			peer.AllowedIps = append(peer.AllowedIps, n.String())
		}
		v.Peers = append(v.Peers, peer)
	}
	return v
}

// keepLearned replaces learned properties by the desired ones.
func keepLearned(v, want *interfaces.WireguardLink) {
	if want.GetListenPort() == 0 {
		v.ListenPort = 0
	}
	for _, p := range v.GetPeers() {
		for _, w := range want.GetPeers() {
			if p.GetPublicKey() == w.GetPublicKey() && p.GetEndpoint() != "" {
				p.Endpoint = w.GetEndpoint()
			}
		}
	}
}
