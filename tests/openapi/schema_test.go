package openapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// editorSchema is the JSON Schema for editors, compiled; that it is valid itself is a
// part of that.
func editorSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const file = "../../docs/reference/vpp-agent.schema.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(file, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate checks a text as an editor does.
func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

// The example files are valid by the schema.
func TestExamplesBySchema(t *testing.T) {
	t.Parallel()
	s := editorSchema(t)
	n := 0
	for _, pattern := range []string{"quickstart/network.yaml", "scenarios/*/*.yaml", "stores/filedb/network.yaml"} {
		files, err := filepath.Glob("../../examples/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate(t, s, string(text)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			n++
		}
	}
	if n < 40 {
		t.Errorf("%d files: expected more, are the patterns right?", n)
	}
}

// Mistakes are found, and the message leads to them.
func TestMistakesBySchema(t *testing.T) {
	t.Parallel()
	s := editorSchema(t)
	for text, want := range map[string]string{
		"vppConfig: {interfaces: [{name: a, type: SOFTWARE_LOOPBACK, ipAddresses: [10.0.0.1/8]}]}": "",
		"vpp_config: {interfaces: [{name: a, mtu: 9000}]}":                                         "",
		"vppConfig: {interfaces: [{nam: a}]}":                                                      "nam",
		"vppConfig: {interfaces: [{name: a, type: LOOP}]}":                                         "/vppConfig/interfaces/0/type",
		"vppConfig: {interfaces: [{name: a, mtu: -1}]}":                                            "/vppConfig/interfaces/0/mtu",
		"vppConf: {}": "vppConf",
	} {
		if err := validate(t, s, text); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
