package allmodels_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// These are the fields that are hidden in logs, answers and files that are shown.
// A new field whose name speaks of keys or passwords belongs here, or among those
// that only sound like it.
func TestSecretFields(t *testing.T) {
	t.Parallel()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	var secrets, others []string
	seen := map[protoreflect.FullName]bool{}
	var look func(protoreflect.MessageDescriptor)
	look = func(d protoreflect.MessageDescriptor) {
		if seen[d.FullName()] {
			return
		}
		seen[d.FullName()] = true
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			if f.Message() != nil {
				look(f.Message())
			}
			name := strings.TrimPrefix(string(f.FullName()), "ligato.")
			switch {
			case logging.IsSecret(f):
				secrets = append(secrets, name)
			case strings.Contains(name, "key") || strings.Contains(name, "password") || strings.Contains(name, "salt") || strings.Contains(name, "auth") || strings.Contains(name, "token"):
				others = append(others, name)
			}
		}
	}
	for _, m := range set.All() {
		look(m.NewInstance().ProtoReflect().Descriptor())
	}
	for what, lists := range map[string][2][]string{
		"secret": {secrets, {
			"linux.interfaces.WireguardLink.private_key", "linux.interfaces.WireguardPeer.preshared_key",
			"vpp.bfd.AuthKey.secret", "vpp.ikev2.Profile.Auth.secret",
			"vpp.interfaces.IPSecLink.local_crypto_key", "vpp.interfaces.IPSecLink.local_integ_key",
			"vpp.interfaces.IPSecLink.remote_crypto_key", "vpp.interfaces.IPSecLink.remote_integ_key",
			"vpp.interfaces.MemifLink.secret", "vpp.interfaces.WireguardLink.private_key",
			"vpp.ipsec.SecurityAssociation.crypto_key", "vpp.ipsec.SecurityAssociation.crypto_salt", "vpp.ipsec.SecurityAssociation.integ_key",
		}},
		"not secret": {others, {
			"linux.interfaces.TunnelLink.key", "linux.interfaces.WireguardPeer.public_key",
			"vpp.bfd.Session.Authentication.key", "vpp.bfd.Session.Authentication.key_id", "vpp.bfd.Session.authentication",
			"vpp.ikev2.Global.local_key_file", "vpp.ikev2.Profile.auth",
			"vpp.wireguard.Peer.public_key",
		}},
	} {
		slices.Sort(lists[0])
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("%s are\n%s\nexpected\n%s", what, strings.Join(lists[0], "\n"), strings.Join(lists[1], "\n"))
		}
	}
}
