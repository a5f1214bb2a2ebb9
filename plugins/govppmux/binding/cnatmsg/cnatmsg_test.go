package cnatmsg_test

import (
	"reflect"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/cnatmsg"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/cnat"
	"go.fd.io/govpp/binapi/ip_types"
)

// Releases know either the message of the bindings or the one of the package.
func TestReleasesKnowOne(t *testing.T) {
	pairs := [][2]api.Message{
		{&cnat.CnatSetSnatPolicy{}, (*cnatmsg.SetSnatPolicy)(nil)},
		{&cnat.CnatSnatPolicyAddDelIf{}, (*cnatmsg.SnatPolicyAddDelIf)(nil)},
		{&cnat.CnatTranslationUpdate{}, (*cnatmsg.TranslationUpdate)(nil)},
		{&cnat.CnatTranslationDetails{}, (*cnatmsg.TranslationDetails)(nil)},
	}
	for _, name := range binding.Releases() {
		release, err := binding.Release(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pairs {
			if p[0].GetMessageName() != p[1].GetMessageName() || p[0].GetMessageType() != p[1].GetMessageType() {
				t.Errorf("%T and %T are different messages", p[0], p[1])
			}
			if binding.Table(release).Has(p[0]) == binding.Table(release).Has(p[1]) {
				t.Errorf("%s: %s: expected one of %s and %s", name, p[0].GetMessageName(), p[0].GetCrcString(), p[1].GetCrcString())
			}
		}
	}
}

// A message that is encoded without the hash of flows decodes to the same
// message.
func TestTranslationUpdate(t *testing.T) {
	var m cnatmsg.TranslationUpdate
	m.Translation = cnat.CnatTranslation{
		Vip: cnat.CnatEndpoint{Port: 80, SwIfIndex: 0xffffffff}, ID: 7, IPProto: ip_types.IP_API_PROTO_TCP, LbType: cnat.CNAT_LB_TYPE_MAGLEV,
		Paths: []cnat.CnatEndpointTuple{{DstEp: cnat.CnatEndpoint{Port: 8080}, Flags: 2}, {SrcEp: cnat.CnatEndpoint{Port: 9}}},
	}
	m.Translation.NPaths = 2
	for _, into := range [][]byte{nil, make([]byte, m.Size())} {
		bytes, err := m.Marshal(into)
		if err != nil || len(bytes) != m.Size() || len(bytes) != 36+2*49 {
			t.Fatalf("%d bytes, size %d: %v", len(bytes), m.Size(), err)
		}
		var got cnatmsg.TranslationUpdate
		if err := got.Unmarshal(bytes); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v (%v), expected %+v", got, err, m)
		}
		var details cnatmsg.TranslationDetails
		if err := details.Unmarshal(bytes); err != nil || !reflect.DeepEqual(details.Translation, m.Translation) {
			t.Errorf("%+v (%v), expected %+v", details, err, m)
		}
		if again, err := details.Marshal(nil); err != nil || string(again) != string(bytes) {
			t.Errorf("%v (%v), expected %v", again, err, bytes)
		}
	}
	if err := new(cnatmsg.TranslationUpdate).Unmarshal(make([]byte, 35)); err == nil {
		t.Error("35 bytes are no translation")
	}
}
