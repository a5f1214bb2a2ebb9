package restapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/timeline"
)

const timeFormat = time.RFC3339Nano

func (s *server) past() *timeline.Timeline {
	// The history first: a transaction that ends in between is in the graph but
	// not in the history, as if it had happened before.
	history := s.Scheduler.GetTransactionHistory(time.Time{}, time.Time{})
	return timeline.New(timeline.Source{
		Nodes:       s.Scheduler.GraphSnapshot(),
		History:     history,
		Descriptors: s.Scheduler.ListDescriptors(),
		Now:         s.Now(),
	})
}

func (s *server) keyTimeline(req *http.Request, args arguments) (answer, error) {
	key, err1 := args.required("key", "the key of a value")
	at, err2 := args.time("time")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	past := s.past()
	if at.IsZero() {
		revisions := past.Of(key)
		if len(revisions) == 0 {
			return nil, notFound(fmt.Errorf("argument %q is %q: no such value in the graph nor in the history", "key", key))
		}
		return asJSON(nodesJSON(req, revisions)), nil
	}
	if err := past.Reaches(at); err != nil {
		return nil, notFound(fmt.Errorf("argument %w", err))
	}
	r, ok := past.At(key, at)
	if !ok {
		return nil, notFound(fmt.Errorf("argument %q is %q: no such value at %s", "key", key, at.UTC().Format(timeFormat)))
	}
	return asJSON(nodeJSON(req, r)), nil
}

func (s *server) snapshot(req *http.Request, args arguments) (answer, error) {
	at, err := args.time("time")
	if err != nil {
		return nil, err
	}
	past := s.past()
	if at.IsZero() {
		at = s.Now()
	} else if err := past.Reaches(at); err != nil {
		return nil, notFound(fmt.Errorf("argument %w", err))
	}
	return asJSON(nodesJSON(req, past.Snapshot(at))), nil
}

func (s *server) flagStats(_ *http.Request, args arguments) (answer, error) {
	if _, err := args.required("flag", strings.Join(flagNames(), ", ")); err != nil {
		return nil, err
	}
	flag, err := args.oneOf("flag", flagNames()...)
	if err != nil {
		return nil, err
	}
	stats := response.FlagStats{PerValueCount: map[string]int{}}
	for _, n := range s.Scheduler.GraphSnapshot() {
		value, set := flags(n)[flag]
		if set && hasPrefix(n.Key, args.list("prefix")) {
			stats.TotalCount++
			stats.PerValueCount[value]++
		}
	}
	return asJSON(stats), nil
}

// hasPrefix reports whether the key has one of the prefixes; it is true without prefixes.
func hasPrefix(key string, prefixes []string) bool {
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// metadataFields shows metadata field by field, every value as text.
func metadataFields(meta api.Metadata) map[string][]string {
	if meta == nil {
		return nil
	}
	data, err := json.Marshal(meta)
	if err != nil {
		return map[string][]string{"error": {err.Error()}}
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(data, &fields) != nil {
		return map[string][]string{"metadata": texts(data)}
	}
	out := make(map[string][]string, len(fields))
	for name, value := range fields {
		out[name] = texts(value)
	}
	if indexed, ok := meta.(api.IndexedMetadata); ok {
		maps.Copy(out, indexed.IndexFields())
	}
	return out
}

// texts are the elements of a JSON list, or the value itself.
func texts(data json.RawMessage) []string {
	var list []json.RawMessage
	if bytes.Equal(data, []byte("null")) {
		return []string{}
	}
	if json.Unmarshal(data, &list) != nil {
		list = []json.RawMessage{data}
	}
	out := make([]string, len(list))
	for i, element := range list {
		var s string
		if json.Unmarshal(element, &s) != nil {
			s = string(element)
		}
		out[i] = s
	}
	return out
}

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
