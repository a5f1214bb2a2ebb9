package restapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/render"
)

const (
	// maxDrawn limits the size of pictures that a client can ask for.
	maxDrawn = 20_000
	// drawTimeout limits the run time of Graphviz.
	drawTimeout = 30 * time.Second
)

// graph answers with the graph in the DOT language, or as a picture that an installed
// Graphviz draws. The default is a picture if Graphviz is installed, as the
// predecessor's was, and else DOT.
func (s *server) graph(r *http.Request, args arguments) (answer, error) {
	graphviz, missing := exec.LookPath(s.Graphviz)
	formats := []string{"svg", "png", "dot", "raw", "json"}
	if missing != nil {
		formats = []string{"dot", "raw", "svg", "png", "json"}
	}
	format, err1 := args.oneOf("format", formats...)
	limit, limited, err2 := args.number("limit")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if format == "json" {
		return s.drawing(args, limit, limited)
	}
	for _, name := range []string{"key", "contains", "descriptor", "state"} {
		if args.has(name) {
			return nil, badRequest(fmt.Errorf("argument %q: expected only with format=json", name))
		}
	}
	mediaType, isPicture := map[string]string{"svg": "image/svg+xml", "png": "image/png"}[format]
	switch {
	case limit > maxDrawn:
		return nil, badRequest(fmt.Errorf("argument %q is %d: expected at most %d", "limit", limit, maxDrawn))
	case isPicture && missing != nil:
		return nil, &statusError{http.StatusNotImplemented, fmt.Errorf("argument %q is %q: program %q of Graphviz, which draws it, is not installed beside the agent; "+
			"install it there, or expect format=dot and draw it elsewhere: agentctl graph | dot -Tsvg", "format", format, s.Graphviz)}
	}
	nodes, opts, err := s.pictured(args)
	if err != nil {
		return nil, err
	}
	opts.MaxNodes = int(limit)
	nodes = slices.DeleteFunc(nodes, func(n api.GraphNode) bool { return !hasPrefix(n.Key, args.list("prefix")) })
	if !isPicture {
		return stream("text/vnd.graphviz; charset=utf-8", func(w io.Writer) error { return render.DOT(w, nodes, opts) }), nil
	}
	var dot bytes.Buffer
	_ = render.DOT(&dot, nodes, opts) // a buffer has no errors
	picture, err := draw(r.Context(), graphviz, format, &dot)
	if err != nil {
		return nil, err
	}
	return stream(mediaType, func(w io.Writer) error { _, err := w.Write(picture); return err }), nil
}

const (
	// defaultNodes is the number of values up to which a drawing has a node for each.
	defaultNodes = 60
	// maxNodes limits that number.
	maxNodes = 1000
)

// drawing answers with values and their relations.
func (s *server) drawing(args arguments, limit uint64, limited bool) (answer, error) {
	filter, filtered, err := args.filter("prefix")
	switch {
	case err != nil:
		return nil, err
	case args.has("txn"), len(args.list("prefix")) > 1:
		return nil, badRequest(errors.New(`arguments "txn" and several "prefix": not expected with format=json`))
	case args.has("key") && filtered:
		return nil, badRequest(errors.New(`argument "key": expected without "prefix", "contains", "descriptor" and "state"`))
	case !limited:
		limit = defaultNodes
	case limit == 0 || limit > maxNodes:
		return nil, badRequest(fmt.Errorf("argument %q is %d: expected 1 to %d with format=json", "limit", limit, maxNodes))
	}
	d := s.Scheduler.DrawValues(api.DrawingRequest{ValueFilter: filter, Key: args.text("key"), Limit: int(limit)})
	if args.has("key") && d.Values == 0 {
		return nil, notFound(fmt.Errorf("argument %q is %q: no such value", "key", args.text("key")))
	}
	return asJSON(d), nil
}

// draw makes a picture of a graph with Graphviz.
func draw(ctx context.Context, graphviz, format string, dot io.Reader) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, drawTimeout)
	defer cancel()
	cmd := exec.CommandContext(limited, graphviz, "-T"+format)
	var picture, problem bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = dot, &picture, &problem
	switch err := cmd.Run(); {
	case limited.Err() != nil && ctx.Err() == nil:
		return nil, &statusError{http.StatusServiceUnavailable, fmt.Errorf(
			"draw the graph: Graphviz did not end within %v: expected fewer values (limit=N, prefix=P) or format=dot", drawTimeout)}
	case err != nil:
		return nil, fmt.Errorf("draw the graph with %s: %w: %s", graphviz, err, strings.TrimSpace(problem.String()))
	}
	return picture.Bytes(), nil
}

// pictured returns the values to draw: the current ones, or the values after a
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

const plainText = "text/plain; charset=utf-8"

// stream answers with a text or picture.
func stream(mediaType string, write func(io.Writer) error) answer {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", mediaType)
		_ = write(w) // fails if the client disconnected
	}
}
