package kvdb

import (
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// The secret of a value in the store is not printed, in whatever form the value is.
func FuzzShownEntry(f *testing.F) {
	const secret = "Sesam-oeffne-dich"
	m := &interfaces.Interface{Name: "m", Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Secret: secret}}}
	wire, err := proto.Marshal(m)
	infratest.Fatal(f, err)
	text, err := protojson.Marshal(m)
	infratest.Fatal(f, err)
	for _, value := range []string{string(wire), string(text), "\n" + string(text), string(text[1:]), "$crypto$x", `{"name": "a", "mtu": 9000}`, ""} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var errs strings.Builder
		factory := cmdutil.NewFactory(output.Streams{Out: io.Discard, Err: &errs}, config.NoEnviron, time.Now, output.Terminal{})
		shown, err := shownEntry(factory, kv.Item{Key: "/vnf-agent/vpp1/config/vpp/v2/interfaces/m", Value: []byte(value)})
		infratest.Fatal(t, err)
		held := &interfaces.Interface{}
		if kv.Encoded(value).Decode(held) == nil && held.GetMemif().GetSecret() == secret && held.Name == "m" && strings.Contains(shown+errs.String(), secret) {
			t.Errorf("%q is shown as %s %s", value, shown, errs.String())
		}
	})
}

func FuzzImportLine(f *testing.F) {
	f.Add(`config/vpp/v2/interfaces/loop1 {"name": "loop1"}`)
	f.Add("/vnf-agent/vpp1/config/vpp/l2/v2/fib/bd1/mac/x {}")
	set, err := allmodels.Set()
	infratest.Fatal(f, err)
	codec := document.New(set)
	f.Fuzz(func(t *testing.T, line string) {
		it, err := parseImportLine(codec, "/vnf-agent/vpp1/", strings.TrimSpace(line))
		if err == nil && (it.key == "" || it.value == nil) {
			t.Errorf("%q gives %+v", line, it)
		}
	})
}
