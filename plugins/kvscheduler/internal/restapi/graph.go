package restapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/render"
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

// hasPrefix tells whether the key has one of the prefixes, if there are any.
func hasPrefix(key string, prefixes []string) bool {
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

func (s *server) graph(_ *http.Request, args arguments) (answer, error) {
	format := args.text("format")
	if !args.has("format") {
		format = "svg"
	}
	if format != "svg" && format != "dot" && format != "raw" {
		return nil, badRequest(fmt.Errorf(
			"argument %q is %q: expected svg, dot or raw; other pictures can be made of dot with Graphviz", "format", format))
	}
	limit, _, err := args.number("limit")
	if err != nil {
		return nil, err
	}
	if limit > maxDrawn {
		return nil, badRequest(fmt.Errorf("argument %q is %d: expected at most %d", "limit", limit, maxDrawn))
	}
	nodes, opts, err := s.pictured(args)
	if err != nil {
		return nil, err
	}
	opts.MaxNodes = int(limit)
	nodes = slices.DeleteFunc(nodes, func(n api.GraphNode) bool { return !hasPrefix(n.Key, args.list("prefix")) })
	draw, mime := render.SVG, "image/svg+xml"
	if format != "svg" {
		draw, mime = render.DOT, "text/vnd.graphviz; charset=utf-8"
	}
	return asPicture(mime, func(w io.Writer) error { return draw(w, nodes, opts) }), nil
}

// maxDrawn bounds the size of pictures that a client can ask for.
const maxDrawn = 20_000

// pictured returns the values to draw: those of now, or those after a
// transaction.
func (s *server) pictured(args arguments) ([]api.GraphNode, render.Options, error) {
	opts := render.Options{Title: "KV Scheduler graph"}
	seq, given, err := args.number("txn")
	if err != nil {
		return nil, opts, err
	}
	if !given {
		opts.Href = timelineLink(time.Time{})
		return s.Scheduler.GraphSnapshot(), opts, nil
	}
	txn, err := s.transaction("txn", seq)
	if err != nil {
		return nil, opts, err
	}
	opts.Executed = map[string]bool{}
	for i := range txn.Executed {
		opts.Executed[txn.Executed[i].Key] = true
	}
	opts.Title = fmt.Sprintf("KV Scheduler graph after transaction #%d", seq)
	if txn.PreRecord {
		return nil, opts, &statusError{http.StatusConflict, fmt.Errorf("transaction %d is still running", seq)}
	}
	past := s.past()
	end := past.End(seq)
	if end.IsZero() {
		return nil, opts, notFound(fmt.Errorf("transaction %d is no longer in the history", seq))
	}
	opts.Time, opts.Href = txn.Stop, timelineLink(end)
	if err := past.Reaches(end); err != nil {
		return nil, opts, notFound(err)
	}
	var nodes []api.GraphNode
	for _, r := range past.Snapshot(end) {
		nodes = append(nodes, r.Node)
	}
	return nodes, opts, nil
}

func timelineLink(at time.Time) func(string) string {
	suffix := ""
	if !at.IsZero() {
		suffix = fmt.Sprintf("&time=%d", at.UnixNano())
	}
	return func(key string) string { return "/scheduler/key-timeline?key=" + url.QueryEscape(key) + suffix }
}

func asPicture(mime string, draw func(io.Writer) error) answer {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", mime)
		_ = draw(w) // the client is gone if this fails
	}
}

func (s *server) asTree(e *api.Explanation) answer {
	return asPicture("text/plain; charset=utf-8", func(w io.Writer) error { return render.Tree(w, e, s.Now()) })
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
