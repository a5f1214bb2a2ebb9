package agentapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
)

// unknownTypes returns the fields of a request in JSON whose "@type" is no message that the
// agent knows.
func (s *service) unknownTypes(body []byte) (wrong apierr.Violations) {
	var data any
	if json.Unmarshal(body, &data) != nil {
		return nil
	}
	var visit func(path string, data any)
	visit = func(path string, data any) {
		switch d := data.(type) {
		case []any:
			for i, element := range d {
				visit(fmt.Sprintf("%s[%d]", path, i), element)
			}
		case map[string]any:
			if url, ok := d["@type"].(string); ok {
				if _, err := protoregistry.GlobalTypes.FindMessageByURL(url); err != nil {
					wrong = append(wrong, apierr.Violation{Field: path, Text: s.unknownType(url)})
				}
			}
			for _, name := range slices.Sorted(maps.Keys(d)) {
				visit(strings.TrimPrefix(path+"."+name, "."), d[name])
			}
		}
	}
	visit("", data)
	return wrong
}

// unknownType describes an unknown type of a value.
func (s *service) unknownType(url string) string {
	name := url[strings.LastIndexByte(url, '/')+1:]
	var known []string
	for _, m := range s.Orchestrator.Models().All() {
		known = append(known, string(m.ProtoName()))
	}
	hint := "'agentctl model list' has the messages of all models"
	if near := suggest.Nearest(name, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Sprintf("no model has the message %q; %s", name, hint)
}
