package cli

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/infra/errtest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// What is generated of any model can be read again, and is an empty item.
func TestGeneratedItemsAreEmptyOnes(t *testing.T) {
	t.Parallel()
	set, err := allmodels.Set()
	errtest.Fatal(t, err)
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

// optional matches the lines of fields that are commented out.
var optional = regexp.MustCompile(`(?m)^    #([^ ]|  )`)

// What is generated can be applied, and with all its fields it still is YAML.
func TestGeneratedFilesCanBeApplied(t *testing.T) {
	t.Parallel()
	set := allmodels.MustSet()
	e, err := (&app{ctx: t.Context()}).newExplainer(t.Context())
	errtest.Fatal(t, err)
	var all strings.Builder
	for _, m := range set.All() {
		name, text := m.Spec().ModelName(), e.generate(m)
		all.WriteString("---\n" + text)
		doc := e.codec.Decode(name, []byte(text), "")
		if len(doc.Items) != 1 || len(doc.Errs) > 0 {
			t.Errorf("%s: %v\n%s", name, doc.Errs, text)
		}
		whole := optional.ReplaceAllString(text, "    $1")
		if err := yaml.Unmarshal([]byte(whole), new(yaml.Node)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, whole)
		}
	}
	outcome, err := simulate(t.Context(), []byte(all.String()), nil)
	var refused *client.ProblemsError
	if errors.As(err, &refused) {
		for _, p := range refused.Problems {
			t.Errorf("%s: %s", p.Path, p.Error)
		}
	}
	if outcome == nil {
		t.Fatal(err)
	}
	for _, r := range outcome.Results {
		if r.State != "PENDING" {
			t.Errorf("%s is %s: %s", r.Key, r.State, r.Reason)
		}
	}
}
