package reference

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/proto/protodoc"
)

// TestSchema makes the JSON Schema of configuration files, twice, and with -update
// writes it.
func TestSchema(t *testing.T) {
	first := schema(t)
	if again := schema(t); !bytes.Equal(first, again) {
		t.Error("made twice, the schema differs")
	}
	for _, want := range []string{`"vppConfig"`, `"linuxConfig"`, `"ipAddresses"`, `"ip_addresses"`, `"description"`} {
		if !bytes.Contains(first, []byte(want)) {
			t.Errorf("the schema lacks %s", want)
		}
	}
	if !*update || t.Failed() {
		return
	}
	if err := os.WriteFile("vpp-agent.schema.json", first, 0o644); err != nil {
		t.Fatal(err)
	}
}

func schema(t *testing.T) []byte {
	t.Helper()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	comments, err := protodoc.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := document.New(set).DescribedSchema(document.BothNames, comments.Of)
	s["title"] = "Configuration of vpp-agent"
	text, err := json.MarshalIndent(s, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}
