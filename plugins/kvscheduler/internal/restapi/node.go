package restapi

import (
	"fmt"
	"net/http"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/timeline"
)

func nodesJSON(req *http.Request, revisions []timeline.Revision) []response.Node {
	nodes := make([]response.Node, len(revisions))
	for i, r := range revisions {
		nodes[i] = nodeJSON(req, r)
	}
	return nodes
}

func nodeJSON(req *http.Request, r timeline.Revision) response.Node {
	n := r.Node
	j := response.Node{
		Since: r.Since, Until: r.Until, Key: n.Key, Label: n.Label, Value: api.JSONValue{Message: shown(req, n.Value)},
		Flags: flags(n), MetadataFields: metadataFields(n.Metadata),
	}
	for _, edge := range n.Targets {
		j.Targets = append(j.Targets, targets(edge)...)
	}
	return j
}

// targets splits an edge with several keys the way they were written before:
// one target for every derived value, one for a dependency.
func targets(e api.GraphEdge) []response.Target {
	if e.Relation == api.RelationDerives {
		list := make([]response.Target, len(e.Keys))
		for i, key := range e.Keys {
			list[i] = response.Target{Relation: e.Relation, Label: key, ExpectedKey: key, MatchingKeys: []string{key}}
		}
		return list
	}
	t := response.Target{Relation: e.Relation, Label: e.Label, MatchingKeys: []string{}}
	switch {
	case len(e.AnyOf) > 0:
		t.ExpectedKey = e.AnyOf[0] + "*"
		for _, prefix := range e.AnyOf[1:] {
			t.ExpectedKey += " | " + prefix + "*"
		}
		t.MatchingKeys = append(t.MatchingKeys, e.Keys...)
	case len(e.Keys) == 1:
		t.ExpectedKey = e.Keys[0]
		if e.Satisfied {
			t.MatchingKeys = append(t.MatchingKeys, e.Keys...)
		}
	default:
		t.MatchingKeys = append(t.MatchingKeys, e.Keys...)
	}
	return []response.Target{t}
}

func flagNames() []string {
	return []string{"value-state", "last-update", "error", "unavailable", "descriptor", "derived"}
}

// flags are the properties of a value by name; those that do not apply are
// left out.
func flags(n api.GraphNode) map[string]string {
	f := map[string]string{
		"value-state": n.State.String(),
		"last-update": fmt.Sprintf("TXN-%d", n.LastTxn),
	}
	if n.Error != "" {
		f["error"] = n.Error
	}
	if !n.Exists {
		f["unavailable"] = ""
	}
	if n.Descriptor != "" {
		f["descriptor"] = n.Descriptor
	}
	if n.Base != "" {
		f["derived"] = n.Base
	}
	return f
}
