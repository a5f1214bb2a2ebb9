package ikev2msg_test

import (
	"bytes"
	"reflect"
	"testing"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ikev2"
	"go.fd.io/govpp/binapi/ikev2_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/ikev2msg"
)

type message interface {
	api.Message
	Size() int
	Marshal(b []byte) ([]byte, error)
	Unmarshal(b []byte) error
}

// Messages survive their encoding, with every byte of addresses as identities, and fill a buffer
// of their size.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	profile := ikev2.Ikev2ProfileDetails{Profile: ikev2_types.Ikev2Profile{
		Name: "p", LocID: ikev2_types.Ikev2ID{Type: 1, DataLen: 4, Data: "\x0a\x00\x00\x01"}, RemID: ikev2_types.Ikev2ID{Type: 2, DataLen: 3, Data: "abc"},
		IkeTs: ikev2_types.Ikev2IkeTransforms{CryptoAlg: 20, CryptoKeySize: 256, IntegAlg: 12, DhGroup: 19},
		EspTs: ikev2_types.Ikev2EspTransforms{CryptoAlg: 12, CryptoKeySize: 128, IntegAlg: 13}, Lifetime: 3600, IpsecOverUDPPort: 4501, TunItf: 7,
		Auth: ikev2_types.Ikev2Auth{Method: 2, DataLen: 3, Data: []byte("key")},
	}}
	sa := ikev2.Ikev2SaDetails{Sa: ikev2_types.Ikev2Sa{
		SaIndex: 3, IID: ikev2_types.Ikev2ID{Type: 1, DataLen: 4, Data: "\x0a\x00\x00\x01"}, RID: ikev2_types.Ikev2ID{Type: 1, DataLen: 4, Data: "\x0a\x00\x00\x02"},
	}}
	v2606 := &ikev2msg.ProfileDetailsV2606{ProfileDetails: ikev2msg.ProfileDetails{Ikev2ProfileDetails: profile}, PRF: 5}
	for _, m := range []message{
		&ikev2msg.SetIkeTransforms{Ikev2SetIkeTransforms: ikev2.Ikev2SetIkeTransforms{Name: "p", Tr: profile.Profile.IkeTs}, PRF: 5},
		&ikev2msg.ProfileDetails{Ikev2ProfileDetails: profile}, v2606, &ikev2msg.SADetails{Ikev2SaDetails: sa},
	} {
		encoded, err := m.Marshal(nil)
		filled := make([]byte, m.Size())
		if _, errFill := m.Marshal(filled); err != nil || errFill != nil || !bytes.Equal(encoded, filled) {
			t.Fatalf("%T: %x and %x, %v", m, encoded, filled, err)
		}
		got := reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)
		if err := got.Unmarshal(encoded); err != nil {
			t.Fatalf("%T: %v", m, err)
		}
		switch got := got.(type) {
		case *ikev2msg.ProfileDetails:
			expectIDs(t, got, got.LocalID, "\x0a\x00\x00\x01", got.RemoteID, "abc")
		case *ikev2msg.ProfileDetailsV2606:
			expectIDs(t, got, got.LocalID, "\x0a\x00\x00\x01", got.RemoteID, "abc")
			if got.PRF != 5 || got.Profile.IkeTs != profile.Profile.IkeTs || !reflect.DeepEqual(got.Profile.Auth, profile.Profile.Auth) {
				t.Errorf("decoded %+v", got)
			}
		case *ikev2msg.SADetails:
			expectIDs(t, got, got.InitiatorID, "\x0a\x00\x00\x01", got.ResponderID, "\x0a\x00\x00\x02")
		default:
			if !reflect.DeepEqual(got, m) {
				t.Errorf("decoded %+v, expected %+v", got, m)
			}
		}
	}
}

func expectIDs(t *testing.T, m message, first []byte, wantFirst string, second []byte, wantSecond string) {
	t.Helper()
	if string(first) != wantFirst || string(second) != wantSecond {
		t.Errorf("%T: identities %q and %q, expected %q and %q", m, first, second, wantFirst, wantSecond)
	}
}

// The tables of releases have the messages with these CRCs.
func TestReleases(t *testing.T) {
	t.Parallel()
	for release, messages := range map[string][]api.Message{
		"22.10": {(*ikev2msg.ProfileDetails)(nil), &ikev2.Ikev2SetIkeTransforms{}, (*ikev2msg.SADetails)(nil)},
		"26.02": {(*ikev2msg.ProfileDetails)(nil), &ikev2.Ikev2SetIkeTransforms{}, (*ikev2msg.SADetails)(nil)},
		"26.06": {(*ikev2msg.ProfileDetailsV2606)(nil), (*ikev2msg.SetIkeTransforms)(nil), (*ikev2msg.SADetails)(nil)},
	} {
		table, err := binding.Release(release)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if !binding.Table(table).Has(m) {
				t.Errorf("%s does not have %s", release, binding.NameCRC(m))
			}
		}
	}
}
