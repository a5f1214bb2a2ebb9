package graph_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// exist makes a value exist as the scheduler created it; nil: it does not exist.
func exist(g *graph.Graph, n *graph.Node, v *registry.Value) {
	if v == nil {
		g.Remove(n, graph.Deleted)
		return
	}
	_ = g.SetHave(n, v, nil, graph.Created) // without metadata nothing can clash
}

// A value that others made belongs to the northbound's observer while that asks for it.
func TestObservedWhileDesired(t *testing.T) {
	t.Parallel()
	g := graph.New()
	n := g.Ensure("tap/1", nil, nil)
	found := &registry.Value{FromSB: true}
	g.SetWant(n, found)
	_ = g.SetHave(n, found, nil, graph.Found)
	for i, s := range []struct {
		want *registry.Value
		is   graph.Owner
	}{
		{&registry.Value{Observed: true}, graph.Observed},
		{found, graph.Foreign},
		{&registry.Value{Observed: true}, graph.Observed},
		{nil, graph.Foreign},
	} {
		if g.SetWant(n, s.want); n.Owner != s.is {
			t.Errorf("step %d: %v, expected %v", i, n.Owner, s.is)
		}
	}
	if g.Remove(n, graph.Lost); n.Owner != graph.None {
		t.Errorf("without a value: %v", n.Owner)
	}
}

// TestTransitionsInArchitecture compares the table of ARCHITECTURE.md with Transitions.
func TestTransitionsInArchitecture(t *testing.T) {
	t.Parallel()
	const document = "../../../../ARCHITECTURE.md"
	var table strings.Builder
	table.WriteString("| event | from | to | |\n|---|---|---|---|\n")
	for _, tr := range graph.Transitions[graph.Unchanged+1:] {
		from := make([]string, len(tr.From))
		for i, owner := range tr.From {
			from[i] = owner.String()
		}
		fmt.Fprintf(&table, "| %s | %s | %v | %s |\n", tr.Name, strings.Join(from, ", "), tr.To, tr.Meaning)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), table.String()) {
		t.Errorf("%s differs from graph.Transitions; expected the table\n%s", document, &table)
	}
}
