package render_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/render"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got:\n%s", file, got)
	}
}

func dependsOn(label string, met bool, keys ...string) api.GraphEdge {
	return api.GraphEdge{Relation: api.RelationDependsOn, Label: label, Keys: keys, Satisfied: met}
}

// bridgeDomain is the graph of a bridge domain with a missing interface, two
// ends of a VETH that depend on each other, and something unrelated.
func bridgeDomain() []api.GraphNode {
	return []api.GraphNode{
		{Key: "bd/bd1", Label: "bd1", Descriptor: "vpp-bridge-domain", State: pb.ValueState_CONFIGURED,
			Targets: []api.GraphEdge{{Relation: api.RelationDerives, Label: "binding", Keys: []string{"bd/bd1/if/if1"}, Satisfied: true}}},
		{Key: "bd/bd1/if/if1", Descriptor: "vpp-bd-interface", Base: "bd/bd1", State: pb.ValueState_PENDING,
			Targets: []api.GraphEdge{dependsOn("interface-exists", false, "if/if1")}},
		{Key: "fib/bd1", Label: `a "quoted" <label>`, Descriptor: "vpp-l2-fib", State: pb.ValueState_FAILED, Error: "no & such",
			Targets: []api.GraphEdge{dependsOn("bd", true, "bd/bd1"), {Relation: api.RelationDependsOn, Label: "any-address", AnyOf: []string{"addr/"}}}},
		{Key: "lonely", State: pb.ValueState_OBTAINED},
		{Key: "veth/a", State: pb.ValueState_CONFIGURED, Targets: []api.GraphEdge{dependsOn("peer", true, "veth/b")}},
		{Key: "veth/b", State: pb.ValueState_CONFIGURED, Targets: []api.GraphEdge{dependsOn("peer", true, "veth/a")}},
	}
}

func options() render.Options {
	return render.Options{
		Title:    "the state after transaction #7",
		Executed: map[string]bool{"bd/bd1": true},
		Href:     func(key string) string { return "/scheduler/key-timeline?key=" + key + "&time=1" },
		Time:     time.Date(2026, 11, 21, 0, 37, 28, 0, time.UTC),
	}
}

func TestDOT(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := render.DOT(&b, bridgeDomain(), options()); err != nil {
		t.Fatal(err)
	}
	golden(t, "graph.dot", b.Bytes())
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	var dot bytes.Buffer
	if err := render.DOT(&dot, nil, render.Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(dot.String(), "0 values") || strings.Contains(dot.String(), "Only") {
		t.Errorf("got %s", &dot)
	}
}

// A picture of a large graph is limited to the values that need attention.
func TestCut(t *testing.T) {
	t.Parallel()
	var nodes []api.GraphNode
	for i := range 50_000 {
		n := api.GraphNode{Key: fmt.Sprintf("route/%05d", i), State: pb.ValueState_CONFIGURED,
			Targets: []api.GraphEdge{dependsOn("interface", true, fmt.Sprintf("if/%05d", i))}}
		nodes = append(nodes, n, api.GraphNode{Key: fmt.Sprintf("if/%05d", i), State: pb.ValueState_CONFIGURED})
	}
	nodes[2*40_000].State = pb.ValueState_FAILED
	var b bytes.Buffer
	if err := render.DOT(&b, nodes, render.Options{Executed: map[string]bool{"route/49000": true}}); err != nil {
		t.Fatal(err)
	}
	const part = "Only 2000 of 100000 values are drawn: changed and troubled ones and their neighbours first."
	lines := strings.SplitN(b.String(), "\n", 4)
	if lines[0] != "// "+part || lines[1] != "digraph kvscheduler {" {
		t.Errorf("the text does not begin with the fact that it is a part:\n%s\n%s", lines[0], lines[1])
	}
	if !strings.Contains(lines[2], "labelloc=t") || !strings.Contains(lines[2], part) {
		t.Errorf("the picture does not say at the top that it is a part: %s", lines[2])
	}
	for _, want := range []string{"Only 2000 of 100000 values are drawn", "route/40000", "if/40000", "route/49000", "if/49000"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if strings.Contains(b.String(), "route/48000") {
		t.Error("the picture has an ordinary value beyond the limit")
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 37, 28, 0, time.UTC)
	tree := &api.Explanation{Key: "fib/bd1", State: pb.ValueState_PENDING, Since: now.Add(-90 * time.Second), Reason: "waits for 1 of 2",
		Children: []*api.Explanation{
			{Key: "bd/bd1/if/if1", Label: "bd-interface", State: pb.ValueState_PENDING, Reason: "waits for interface-exists",
				Children: []*api.Explanation{{Key: "if/if1", Label: "interface-exists", Reason: "not configured"}}},
			{Key: "bd/bd1", Label: "bd", State: pb.ValueState_CONFIGURED},
		}}
	var b bytes.Buffer
	if err := render.Tree(&b, tree, now); err != nil {
		t.Fatal(err)
	}
	golden(t, "tree.txt", b.Bytes())
}
