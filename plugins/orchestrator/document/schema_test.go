package document_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// checker checks values by the part of JSON Schema that is used.
type checker struct{ defs map[string]any }

func (c checker) check(schema map[string]any, v any, at string) error {
	for keyword, arg := range schema {
		var err error
		switch keyword {
		case "$schema", "$defs", "contentEncoding":
		case "$ref":
			def, ok := c.defs[strings.TrimPrefix(arg.(string), "#/$defs/")].(map[string]any)
			if !ok {
				return fmt.Errorf("%s: nothing is at %v", at, arg)
			}
			err = c.check(def, v, at)
		case "anyOf":
			for _, one := range arg.([]any) {
				if err = c.check(one.(map[string]any), v, at); err == nil {
					break
				}
			}
		case "type":
			kinds, many := arg.([]any)
			if !many {
				kinds = []any{arg}
			}
			if !slices.Contains(kinds, any(kindOf(v))) && !(kindOf(v) == "integer" && slices.Contains(kinds, any("number"))) {
				err = fmt.Errorf("%s: %v is no %v", at, v, arg)
			}
		case "enum":
			if !slices.ContainsFunc(arg.([]any), func(one any) bool { return one == v }) {
				err = fmt.Errorf("%s: %v is not among %v", at, v, arg)
			}
		case "minimum", "maximum":
			if n, ok := v.(float64); ok && (keyword == "minimum" && n < arg.(float64) || keyword == "maximum" && n > arg.(float64)) {
				err = fmt.Errorf("%s: %v is out of bounds", at, v)
			}
		case "items":
			list, _ := v.([]any)
			for i, e := range list {
				if e := c.check(arg.(map[string]any), e, fmt.Sprintf("%s[%d]", at, i)); e != nil {
					err = e
				}
			}
		case "required":
			for _, name := range arg.([]any) {
				if m, ok := v.(map[string]any); ok && m[name.(string)] == nil {
					err = fmt.Errorf("%s: %v is missing", at, name)
				}
			}
		case "properties", "additionalProperties":
			err = c.fields(schema, v, at)
		default:
			err = fmt.Errorf("the schema has %s, which this test does not know", keyword)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c checker) fields(schema map[string]any, v any, at string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	known, _ := schema["properties"].(map[string]any)
	for name, value := range m {
		sub, ok := known[name].(map[string]any)
		if !ok {
			if sub, ok = schema["additionalProperties"].(map[string]any); !ok {
				return fmt.Errorf("%s.%s: not known", at, name)
			}
		}
		if err := c.check(sub, value, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// asJSON is what a program sees of YAML or of a value in Go.
func asJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	if text, ok := v.(string); ok {
		v = nil
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSchema(t *testing.T) {
	t.Parallel()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	codec := document.New(set)
	const both, one, other, none = "both", "json", "proto", ""
	for text, by := range map[string]string{
		"vppConfig: {interfaces: [{name: a, type: TAP, ipAddresses: [10.0.0.1/8], tap: {version: 2}}]}": one,
		"vpp_config: {interfaces: [{name: a, type: 3, ip_addresses: [], mtu: 9000}]}":                   other,
		"vppConfig: {bridgeDomains: [{name: a, interfaces: [{name: b}]}]}":                              one,
		"vpp_config: {bridge_domains: [{name: a}]}":                                                     other,
		"vpp_config: {interfaces: [{name: a, ipAddresses: []}]}":                                        "mixed",
		"data: [{key: a, value: {}}]":                                                                   both,
		"vppConfig: {VRRPEntry_list: [{interface: a, vr_id: 1}]}":                                       "mixed",
		"linuxConfig: {interfaces: []}\nnetallocConfig: {}\nvppConfig:":                                 one,
		"{}":                                     both,
		"data: [{value: {}}]":                    none,
		"vppConfig: {interfaces: [{nam: a}]}":    none,
		"vppConfig: {interfaces: {name: a}}":     none,
		"vppConfig: {interfaces: [{type: TEP}]}": none,
		"vppConfig: {interfaces: [{mtu: -1}]}":   none,
		"vppConfig: {interfaces: [{mtu: big}]}":  none,
		"vppConfig: {interfaces: [{name: 1}]}":   none,
		"vpConfig: {}":                           none,
	} {
		for _, names := range []struct {
			document.FieldNames
			good bool
		}{
			{document.BothNames, by != none},
			{document.JSONNames, by == one || by == both},
			{document.ProtoNames, by == other || by == both},
		} {
			schema := asJSON(t, codec.Schema(names.FieldNames))
			err := checker{schema["$defs"].(map[string]any)}.check(schema, asJSON(t, text), "")
			if (err == nil) != names.good {
				t.Errorf("%s by the names %d: %v", text, names.FieldNames, err)
			}
		}
	}
	schema := asJSON(t, codec.Schema(document.BothNames))
	if schema["$schema"] != document.SchemaURI {
		t.Errorf("it is of %v", schema["$schema"])
	}
	// What the codec writes of every model is right by the schema.
	for _, m := range set.All() {
		text, err := codec.Encode(m.NewInstance())
		if err != nil {
			t.Fatal(err)
		}
		if err := (checker{schema["$defs"].(map[string]any)}).check(schema, asJSON(t, string(text)), ""); err != nil {
			t.Errorf("%s: %v\n%s", m.Spec().ModelName(), err, text)
		}
	}
}
