package render_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/render"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

var update = flag.Bool("update", false, "write the results of now into testdata")

// objectsOf decodes objects whose documents begin with their kind.
func objectsOf(t testing.TB, text string) fleet.Objects {
	t.Helper()
	var files []fleet.Source
	for i, doc := range strings.Split(text, "---\n") {
		files = append(files, fleet.Source{File: fmt.Sprintf("%d.yaml", i+1), Text: []byte("apiVersion: fleet.tenuto.dev/v1alpha1\n" + doc)})
	}
	objects, errs := fleet.DecodeAll(files)
	infratest.Fatal(t, errs...)
	return objects
}

func codec() *document.Codec { return document.New(allmodels.MustSet()) }

// show writes a rendering: the configuration of each agent with the origin of its items, errors, warnings and new allocations.
func show(t testing.TB, in render.Input) string {
	t.Helper()
	var b strings.Builder
	r := render.Render(in)
	for _, e := range r.Errs {
		fmt.Fprintln(&b, "ERROR", e)
	}
	for result := range r.Agents() {
		fmt.Fprintf(&b, "# %s\n", result.Agent.Metadata.Name)
		var messages []proto.Message
		for _, it := range result.Items {
			fmt.Fprintf(&b, "# %s: %s\n", it.Config, it.Key)
			messages = append(messages, it.Value)
		}
		for _, e := range result.Errs {
			fmt.Fprintln(&b, "ERROR", e)
		}
		if len(result.Errs) == 0 && len(messages) > 0 {
			text, err := in.Codec.EncodeUsed(messages...)
			infratest.Fatal(t, err)
			b.Write(text)
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(&b, "WARNING", w)
	}
	for _, n := range r.New {
		fmt.Fprintf(&b, "NEW %s %s %s\n", n.Pool, n.Agent, n.Value)
	}
	return b.String()
}

// TestRender renders the cases of testdata/*.txt, which begin with "## ", and compares the results with what is
// below "-- result --". Documents begin with their kind. Lines "allocation: POOL AGENT VALUE" come first.
func TestRender(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"testdata/results.txt", "testdata/errors.txt"} {
		text, err := os.ReadFile(file)
		infratest.Fatal(t, err)
		var got strings.Builder
		for _, c := range strings.Split(string(text), "## ")[1:] {
			name, body, _ := strings.Cut(c, "\n")
			input, _, _ := strings.Cut(body, "-- result --\n")
			in := render.Input{Codec: codec(), Allocations: render.Allocations{}}
			rest := input
			for strings.HasPrefix(rest, "allocation: ") {
				line, after, _ := strings.Cut(rest, "\n")
				words := strings.Fields(line)
				if in.Allocations[words[1]] == nil {
					in.Allocations[words[1]] = map[string]string{}
				}
				in.Allocations[words[1]][words[2]], rest = words[3], after
			}
			in.Objects = objectsOf(t, rest)
			fmt.Fprintf(&got, "## %s\n%s-- result --\n%s\n", name, input, show(t, in))
		}
		if *update {
			infratest.Fatal(t, os.WriteFile(file, []byte(got.String()), 0o644))
		} else if got.String() != string(text) {
			t.Errorf("%s: got\n%s\nexpected\n%s", file, got.String(), text)
		}
	}
}
