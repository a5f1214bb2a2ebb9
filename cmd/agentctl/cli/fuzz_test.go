package cli

import (
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/errtest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// The secret of a value in the store is not printed, in whatever form the value is.
func FuzzShownEntry(f *testing.F) {
	const secret = "Sesam-oeffne-dich"
	m := &interfaces.Interface{Name: "m", Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Secret: secret}}}
	wire, err := proto.Marshal(m)
	errtest.Fatal(f, err)
	text, err := protojson.Marshal(m)
	errtest.Fatal(f, err)
	for _, value := range []string{string(wire), string(text), "\n" + string(text), string(text[1:]), "$crypto$x", `{"name": "a", "mtu": 9000}`, ""} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var errs strings.Builder
		a := &app{Streams: Streams{io.Discard, &errs}}
		shown, err := a.shownEntry(kv.Item{Key: "/vnf-agent/vpp1/config/vpp/v2/interfaces/m", Value: []byte(value)})
		errtest.Fatal(t, err)
		held := &interfaces.Interface{}
		if kv.Encoded(value).Decode(held) == nil && held.GetMemif().GetSecret() == secret && held.Name == "m" && strings.Contains(shown+errs.String(), secret) {
			t.Errorf("%q is shown as %s %s", value, shown, errs.String())
		}
	})
}
