package cli

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// The generated item of every model can be read again, and is empty.
func TestGeneratedItemsAreEmptyOnes(t *testing.T) {
	t.Parallel()
	set, err := allmodels.Set()
	infratest.Fatal(t, err)
	for _, m := range set.All() {
		name := m.Spec().ModelName()
		for _, f := range []struct {
			flags []string
			read  func([]byte, proto.Message) error
		}{
			{[]string{"-f", "json"}, protojson.Unmarshal},
			{[]string{"--oneline"}, protojson.Unmarshal},
			{[]string{"-f", "proto"}, prototext.Unmarshal},
			{[]string{"-f", "proto", "--oneline"}, prototext.Unmarshal},
		} {
			r := run(t, nil, append([]string{"generate", name}, f.flags...)...)
			got := m.NewInstance()
			if err := f.read([]byte(r.out), got); err != nil || r.code != 0 {
				t.Errorf("%s %s: exit %d, %v\n%s", name, f.flags, r.code, err, r.out)
			}
		}
	}
	if r := run(t, nil, "generate", "vpp.l2.fib", "-f", "{{.action}}"); r.out != "FORWARD\n" {
		t.Errorf("a template gives %q, %s", r.out, r.err)
	}
}
