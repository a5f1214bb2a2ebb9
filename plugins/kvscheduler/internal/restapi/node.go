package restapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/timeline"
)

// jsonNode is a value during some time.
type jsonNode struct {
	Since, Until     time.Time
	Key, Label       string
	Value            *api.JSONValue
	Flags            map[string]string
	MetadataFields   map[string][]string
	Targets          []jsonTarget
	TargetUpdateOnly bool
}

type jsonTarget struct {
	Relation     string
	Label        string
	ExpectedKey  string
	MatchingKeys []string
}

func jsonNodes(req *http.Request, revisions []timeline.Revision) []jsonNode {
	nodes := make([]jsonNode, len(revisions))
	for i, r := range revisions {
		nodes[i] = newJSONNode(req, r)
	}
	return nodes
}

func newJSONNode(req *http.Request, r timeline.Revision) jsonNode {
	n := r.Node
	j := jsonNode{
		Since: r.Since, Until: r.Until, Key: n.Key, Label: n.Label, Value: api.NewJSONValue(shown(req, n.Value)),
		Flags: flags(n), MetadataFields: metadataFields(n.Metadata),
	}
	for _, edge := range n.Targets {
		j.Targets = append(j.Targets, targets(edge)...)
	}
	return j
}

// targets splits an edge with several keys the way they were written before:
// one target for every derived value, one for a dependency.
func targets(e api.GraphEdge) []jsonTarget {
	if e.Relation == api.RelationDerives {
		list := make([]jsonTarget, len(e.Keys))
		for i, key := range e.Keys {
			list[i] = jsonTarget{e.Relation, key, key, []string{key}}
		}
		return list
	}
	t := jsonTarget{e.Relation, e.Label, "", []string{}}
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
	return []jsonTarget{t}
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
