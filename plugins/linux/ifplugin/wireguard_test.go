package ifplugin_test

import (
	"bytes"
	"encoding/base64"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// key returns a key, of bytes that WireGuard leaves as they are.
func key(n byte) string {
	b := bytes.Repeat([]byte{n * 8}, 32)
	b[31] = 64
	return base64.StdEncoding.EncodeToString(b)
}

// public returns the public key of a private one.
func public(t *testing.T, private string) string {
	t.Helper()
	k, err := wgtypes.ParseKey(private)
	must(t, err)
	return k.PublicKey().String()
}

func wireGuard(name, ns, private string, port uint32, peer *interfaces.WireguardPeer, addr string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, HostIfName: "wg0", Type: interfaces.Interface_WIREGUARD, Namespace: named(ns), Enabled: true, IpAddresses: []string{addr},
		Link: &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{
			PrivateKey: private, ListenPort: port, Peers: []*interfaces.WireguardPeer{peer},
		}},
	}
}

// TestWireGuard: two namespaces exchange packets through a tunnel, which survives a restart of the
// agent, and ends when its peer is removed. The kernel has the module, or wireguard-go serves it.
func TestWireGuard(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	program, err := exec.LookPath("wireguard-go")
	if err != nil {
		t.Skip("SKIPPED: WireGuard is not tested, because wireguard-go is not installed (package wireguard-go)")
	}
	a := linuxtest.StartWireguardGo(t, w, program)
	wg1 := wireGuard("wg/1", "one", key(1), 0, &interfaces.WireguardPeer{
		PublicKey: public(t, key(2)), PresharedKey: key(5), Endpoint: "10.1.0.2:7000", AllowedIps: []string{"10.5.0.2/32", "fd00:5::/64"},
	}, "10.5.0.1/24")
	wg2 := wireGuard("wg/2", "two", key(2), 7000, &interfaces.WireguardPeer{
		PublicKey: public(t, key(1)), PresharedKey: key(5), AllowedIps: []string{"10.5.0.1/32"},
	}, "10.5.0.2/24")
	all := []proto.Message{veth("e1", "e2", "one", "10.1.0.1/24"), veth("e2", "e1", "two", "10.1.0.2/24"), wg1, wg2}
	must(t, a.Apply(all...))
	a.Expect(configured, all...)
	exchange(t, w, "one", "two", "10.5.0.2")
	one := w.Open(t, "one")
	before := expectLink(t, one, "wg0")
	unchanged(t, a, all...)
	a.Stop()
	a = linuxtest.StartWireguardGo(t, w, program)
	unchanged(t, a, all...)
	exchange(t, w, "two", "one", "10.5.0.1") // the peer without an endpoint is known by now

	changed := proto.CloneOf(wg1)
	changed.GetWireguard().Peers[0].PersistentKeepalive = 25
	changed.GetWireguard().Fwmark = 7
	all[2] = changed
	must(t, a.Apply(changed))
	unchanged(t, a, all...)
	if now := expectLink(t, one, "wg0"); now.Index != before.Index || now.Params.(netlinkapi.WireGuard).Mark != 7 {
		t.Errorf("link is %+v, it was %+v", now, before)
	}
	exchange(t, w, "one", "two", "10.5.0.2")

	changed = proto.CloneOf(changed)
	changed.GetWireguard().Peers = nil
	must(t, a.Apply(changed))
	if p := expectLink(t, one, "wg0").Params.(netlinkapi.WireGuard); len(p.Peers()) != 0 {
		t.Errorf("peers remain: %+v", p)
	}
	must(t, a.Delete(wg1, wg2))
	expectNoLink(t, one, "wg0")
	nltest.Poll(t, "wireguard-go has ended", func() bool {
		left, err := filepath.Glob("/run/wireguard/tmp-*.sock")
		must(t, err)
		return len(left) == 0
	})
	must(t, a.Resync())
}

// Without the module and without wireguard-go the error says what to do.
func TestWireGuardIsMissing(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{"": "wireguard-go in linux-ifplugin.conf", "/nonexistent/wireguard-go": "/nonexistent/wireguard-go"} {
		w := nltest.Kernel(t)
		a := linuxtest.StartWireguardGo(t, w, program)
		v := wireGuard("wg", "one", key(1), 0, &interfaces.WireguardPeer{PublicKey: key(2)}, "10.5.0.1/24")
		err := a.Apply(v)
		if err == nil {
			t.Skip("SKIPPED: the kernel has the module wireguard")
		}
		a.Expect(unimplemented, v)
		if text := linuxtest.ErrorText(err); !strings.Contains(text, want) {
			t.Errorf("error is %s, expected %q in it", text, want)
		}
	}
}

// Keys are neither logged nor part of errors.
func TestWireGuardKeysAreHidden(t *testing.T) {
	t.Parallel()
	v := wireGuard("wg", "", key(1), 0, &interfaces.WireguardPeer{PublicKey: key(2), PresharedKey: key(3)}, "10.5.0.1/24")
	shown, hidden := logging.HideSecrets(v)
	if text := shown.(*interfaces.Interface).String(); !hidden || strings.Contains(text, key(1)) || strings.Contains(text, key(3)) || !strings.Contains(text, key(2)) {
		t.Errorf("shown is %s", text)
	}
}
