package gnmi

import (
	"context"
	"fmt"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
)

// Get implements the call. The response has a notification for each path, with an update for
// each item that it selects.
func (s *service) Get(ctx context.Context, req *gpb.GetRequest) (*gpb.GetResponse, error) {
	if err := s.checkGet(req); err != nil {
		return nil, err
	}
	only, err := s.only(req.GetUseModels())
	if err != nil {
		return nil, err
	}
	paths := req.GetPath()
	if len(paths) == 0 {
		paths = []*gpb.Path{{}}
	}
	sels, err := s.selections(req.GetPrefix(), paths, "path", only)
	if err != nil {
		return nil, err
	}
	resp, size := &gpb.GetResponse{}, 0
	for i, sel := range sels {
		restrict(sel, req.GetType())
		updates, err := s.updates(ctx, sel, req.GetEncoding())
		if err == nil && len(updates) == 0 && sel.key != "" && len(sel.trees) == 1 {
			err = s.notFound(fmt.Sprintf("path[%d]", i), sel)
		}
		if err != nil {
			return nil, err
		}
		n := notification(req.GetPrefix(), updates)
		if size += proto.Size(n); size > maxAnswer {
			return nil, status.Errorf(codes.ResourceExhausted, "path[%d]: the answer has more than %d bytes: expected fewer or narrower paths, or Subscribe", i, maxAnswer)
		}
		resp.Notification = append(resp.Notification, n)
	}
	return resp, nil
}

// maxAnswer is the maximum size of the response to Get, in bytes; maxPaths is the maximum number
// of paths in a request that reads.
const (
	maxAnswer = 64 << 20
	maxPaths  = 1000
)

// checkPaths rejects a request with too many paths.
func checkPaths(field string, n int) error {
	if n > maxPaths {
		return status.Errorf(codes.InvalidArgument, "%s: %d paths, expected at most %d", field, n, maxPaths)
	}
	return nil
}

func (s *service) checkGet(req *gpb.GetRequest) error {
	if err := checkExtensions(req.GetExtension()); err != nil {
		return err
	}
	if err := checkEncoding(req.GetEncoding()); err != nil {
		return err
	}
	if err := checkPaths("path", len(req.GetPath())); err != nil {
		return err
	}
	if _, known := gpb.GetRequest_DataType_name[int32(req.GetType())]; !known {
		return apierr.Violations{{Field: "type", Text: fmt.Sprintf("%d: expected ALL, CONFIG, STATE or OPERATIONAL", req.GetType())}}.QueryStatus()
	}
	return s.checkPrefix(req.GetPrefix())
}

// selections reads paths; field is their name in the request.
func (s *service) selections(prefix *gpb.Path, paths []*gpb.Path, field string, only []*model) (sels []*selection, err error) {
	var wrong apierr.Violations
	for i, p := range paths {
		sel, err := s.parse(prefix, p, only)
		if err != nil {
			wrong = append(wrong, err.violation(prefix, fmt.Sprintf("%s[%d]", field, i)))
			continue
		}
		sels = append(sels, sel)
	}
	return sels, wrong.QueryStatus()
}

// restrict leaves the trees with data of a type. All state is operational.
func restrict(sel *selection, of gpb.GetRequest_DataType) {
	sel.trees = slices.DeleteFunc(slices.Clone(sel.trees), func(t *tree) bool {
		return of == gpb.GetRequest_CONFIG && t.name != configTree || of >= gpb.GetRequest_STATE && t.name == configTree
	})
}

// updates returns what a selection has.
func (s *service) updates(ctx context.Context, sel *selection, enc gpb.Encoding) (updates []*gpb.Update, err error) {
	nodes, err := s.nodes(ctx, sel)
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		u, err := nodes[i].update(sel.pathIn(nodes[i].tree, nodes[i].model), enc)
		if err != nil {
			return nil, err
		}
		if u != nil {
			updates = append(updates, u)
		}
	}
	return updates, nil
}

// notification has the origin and the target of the prefix; the paths in it are absolute.
func notification(prefix *gpb.Path, updates []*gpb.Update) *gpb.Notification {
	return &gpb.Notification{
		Timestamp: time.Now().UnixNano(), Prefix: &gpb.Path{Origin: prefix.GetOrigin(), Target: prefix.GetTarget()}, Update: updates,
	}
}

// maxSimilar limits the items among which notFound looks for a similar name.
const maxSimilar = 10_000

// notFound is the status of a path of an item, or of a field of it, that is not there.
func (s *service) notFound(field string, sel *selection) error {
	m := sel.models[0]
	if len(s.Orchestrator.Item(sel.key).Sources) > 0 {
		what := "/" + sel.trees[0].name
		if f := sel.field(); f != nil {
			what += " with " + f.JSONName()
		}
		return status.Errorf(codes.NotFound, "%s: %s %s is not in %s", field, m.name, m.Label(sel.key), what)
	}
	var labels []string
	for _, kv := range s.Orchestrator.ListData("") {
		if m.Matches(kv.Key) && len(labels) < maxSimilar {
			labels = append(labels, m.Label(kv.Key))
		}
	}
	return status.Errorf(codes.NotFound, "%s: no source configures %s %s%s", field, m.name, m.Label(sel.key), didYouMean(m.Label(sel.key), labels))
}
