package render_test

import (
	"fmt"
	"testing"

	"github.com/tenuto-dev/tenuto/fleet/render"
)

func TestReadAllocations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "map[] []", "# none\n": "map[] []", "p: {}\n": "map[p:map[]] []",
		"lo: {a: 10.0.0.1, b: 10.0.0.2}\nvlans: {a: 100}\n": "map[lo:map[a:10.0.0.1 b:10.0.0.2] vlans:map[a:100]] []",
		"[a]":              "map[] [f.yaml:1:1: expected pools with agents and their values, such as {loopbacks: {edge-1: 10.0.0.1}}]",
		"lo: [a]\n":        "map[] [f.yaml:1:5: lo: expected agents with their values, such as {edge-1: 10.0.0.1}]",
		"lo: {a: [b]}\n":   "map[lo:map[a:]] [f.yaml:1:9: lo.a: expected a value]",
		"a: {}\n---\nb:\n": "map[a:map[]] [f.yaml:3:1: expected one YAML document]",
		"a: {b: 1, b: 2}":  "map[] [f.yaml:1:11: a.b: given twice, first in line 1]",
	} {
		got, errs := render.ReadAllocations("f.yaml", []byte(text))
		if fmt.Sprint(got, errs) != want {
			t.Errorf("%q: %v %v, expected %s", text, got, errs, want)
		}
	}
}
