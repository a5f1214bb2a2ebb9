package agentapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	pb "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

// httpKey is the key of the *http.Request in the context of a call over HTTP.
type httpKey struct{}

// callerOf returns the client of a call.
func callerOf(ctx context.Context) (c orchestrator.Caller) {
	if r, ok := ctx.Value(httpKey{}).(*http.Request); ok {
		c.User, c.Addr = rest.Caller(r)
	} else {
		c.User, c.Addr = grpc.Caller(ctx)
	}
	return c
}

// mayShowSecrets reports whether the client of a call asked for secrets. The servers have
// rejected those that may not.
func mayShowSecrets(ctx context.Context) bool {
	if r, ok := ctx.Value(httpKey{}).(*http.Request); ok {
		return rest.ShowSecrets(r)
	}
	return grpc.ShowSecrets(ctx)
}

// call is what the servers know of a call.
type call struct {
	doc string
	// reads: it changes nothing, so the permission read includes it, over gRPC and over HTTP.
	reads bool
	// group is its permission group over HTTP, besides read.
	group string
	// large: the request has a configuration.
	large bool
}

// calls are the calls of the service. Both servers take their permissions from here.
var calls = map[string]call{
	"Plan":             {"what Apply with the same change would do", true, rest.GroupConfigValidation, true},
	"Apply":            {"make a change of items, with revert_on_failure, verify, confirm_timeout and wait", false, rest.GroupConfigWrite, true},
	"Confirm":          {"keep the change that was applied with a confirm_timeout", false, rest.GroupConfigWrite, false},
	"Cancel":           {"revert the change that waits for its confirmation", false, rest.GroupConfigWrite, false},
	"AcceptSource":     {"make the content of a store take effect that guard-deletes holds back", false, rest.GroupConfigWrite, false},
	"Explain":          {"why a value is in its state, down to the values that block it", true, rest.GroupDump, false},
	"ListItems":        {"the items of all sources, and which of them are in effect", true, rest.GroupConfigRead, false},
	"ListTransactions": {"transactions from the history", true, rest.GroupDump, false},
	"GetGraph":         {"values with their relations", true, rest.GroupDump, false},
	"ListOrphans":      {"what exists in the southbound and is not configured", true, rest.GroupDump, false},
	"GetDrift":         {"how the southbound differs from the record of the agent", true, rest.GroupDump, false},
	"Watch":            {"the status of values and each of its changes, a JSON object per line", true, rest.GroupDump, false},
}

// callsThat returns the names of calls, sorted.
func callsThat(match func(call) bool) (names []string) {
	for name, c := range calls {
		if match(c) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// endpoints are the calls as JSON over HTTP: the body is the request, and the response is that
// of the call, or the google.rpc.Status of its error.
func endpoints(s *service) (list []rest.Endpoint, err error) {
	desc := pb.File_tenuto_v1_agent_proto.Services().ByName("AgentService")
	for i := range desc.Methods().Len() {
		m := desc.Methods().Get(i)
		name := string(m.Name())
		c, known := calls[name]
		if !known {
			return nil, fmt.Errorf("call %s: it has no permissions", name)
		}
		groups := []string{c.group}
		if c.reads {
			groups = append(groups, rest.GroupRead)
		}
		response, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
		if err != nil {
			return nil, fmt.Errorf("call %s: %w", name, err)
		}
		list = append(list, rest.Endpoint{
			Path: "/" + string(desc.FullName()) + "/" + name, Methods: []string{http.MethodPost}, Groups: groups,
			Query: []string{rest.ShowSecretsParameter}, Response: response.New().Interface(), Doc: c.doc, Handler: s.handler(m),
		})
	}
	return list, nil
}

// handler serves a call.
func (s *service) handler(m protoreflect.MethodDescriptor) http.HandlerFunc {
	name := string(m.Name())
	return func(w http.ResponseWriter, r *http.Request) {
		decode := func(into any) error { return s.decode(r, m, into.(proto.Message)) }
		ctx := context.WithValue(r.Context(), httpKey{}, r)
		for _, d := range pb.AgentService_ServiceDesc.Streams {
			if d.StreamName == name {
				stream := &jsonStream{ctx: ctx, decode: decode, w: w, control: http.NewResponseController(w)}
				if err := d.Handler(s, stream); err != nil && !stream.begun {
					writeStatus(w, err)
				}
				return
			}
		}
		for _, d := range pb.AgentService_ServiceDesc.Methods {
			if d.MethodName == name {
				resp, err := d.Handler(s, ctx, decode, nil)
				if err != nil {
					writeStatus(w, err)
					return
				}
				writeMessage(w, http.StatusOK, resp.(proto.Message))
				return
			}
		}
	}
}

// decode reads a request.
func (s *service) decode(r *http.Request, m protoreflect.MethodDescriptor, into proto.Message) error {
	c := calls[string(m.Name())]
	if !c.large {
		r.Body = http.MaxBytesReader(nil, r.Body, maxQuery)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if err := checkValues(body); err != nil {
		return err
	}
	if len(body) == 0 || protojson.Unmarshal(body, into) == nil {
		return nil
	}
	wrong := s.wrongFields(body, m.Input())
	if c.reads && !c.large { // not for a change
		return wrong.QueryStatus()
	}
	return wrong.Status()
}

const (
	// maxQuery is the maximum size of a request without a configuration, in bytes.
	maxQuery = 1 << 20
	// A body may have freeValues values, and one more for each bytesPerValue bytes, so that it
	// takes a few times its size in memory.
	freeValues    = 200_000
	bytesPerValue = 12
)

// checkValues rejects a body that consists of empty values.
func checkValues(body []byte) error {
	limit, n := freeValues+len(body)/bytesPerValue, 0
	for _, begin := range []string{",", "{", "["} {
		n += bytes.Count(body, []byte(begin))
	}
	if n > limit {
		return status.Errorf(codes.InvalidArgument, "the body has more than %d values in %d bytes", limit, len(body))
	}
	return nil
}

func writeMessage(w http.ResponseWriter, code int, m proto.Message) {
	text, err := protojson.Marshal(m)
	if err != nil {
		rest.WriteError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n')) // fails only if the client has disconnected
}

func writeStatus(w http.ResponseWriter, err error) {
	st := status.Convert(err)
	code, known := map[codes.Code]int{
		codes.InvalidArgument: http.StatusBadRequest, codes.NotFound: http.StatusNotFound,
		codes.Aborted: http.StatusConflict, codes.FailedPrecondition: http.StatusConflict,
		codes.ResourceExhausted: http.StatusTooManyRequests, codes.Unavailable: http.StatusServiceUnavailable,
		codes.DeadlineExceeded: http.StatusGatewayTimeout,
	}[st.Code()]
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		code, st = http.StatusRequestEntityTooLarge, status.Newf(codes.ResourceExhausted, "body: expected at most %d bytes (max-body-bytes in http.conf, and 1 MiB for a query)", large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		code, st = http.StatusRequestTimeout, status.New(codes.DeadlineExceeded, "timeout while reading the body (read-timeout in http.conf)")
	case !known:
		code = http.StatusInternalServerError
	}
	writeMessage(w, code, st.Proto())
}

// writeTimeout is how long a client may take to receive a message of a stream.
const writeTimeout = time.Minute

// jsonStream is a stream of a call over HTTP: one request, and responses as lines of JSON.
type jsonStream struct {
	rpc.ServerStream // nil: the calls use none of its other methods
	ctx              context.Context
	decode           func(into any) error
	w                http.ResponseWriter
	control          *http.ResponseController
	begun            bool
}

func (s *jsonStream) Context() context.Context     { return s.ctx }
func (s *jsonStream) SetTrailer(metadata.MD)       {}
func (s *jsonStream) SendHeader(metadata.MD) error { return nil }
func (s *jsonStream) SetHeader(metadata.MD) error  { return nil }
func (s *jsonStream) RecvMsg(into any) error       { return s.decode(into) }

func (s *jsonStream) SendMsg(m any) error {
	text, err := protojson.Marshal(m.(proto.Message))
	if err != nil {
		return err
	}
	if !s.begun {
		s.begun = true
		_ = s.control.SetReadDeadline(time.Time{}) // the limit of requests does not apply to streams
		s.w.Header().Set("Content-Type", "application/x-ndjson")
		s.w.Header().Set("Cache-Control", "no-store")
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.w.Write(append(text, '\n')); err != nil {
		return err
	}
	return s.control.Flush()
}
