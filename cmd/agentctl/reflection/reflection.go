// Package reflection lists the services of a gRPC server by gRPC reflection,
// and calls methods that are unknown at build time.
package reflection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// Server is the server of a connection. It must not be used concurrently.
type Server struct {
	conn   *rpc.ClientConn
	stream rpc.BidiStreamingClient[grpc_reflection_v1.ServerReflectionRequest, grpc_reflection_v1.ServerReflectionResponse]
	files  map[string]*descriptorpb.FileDescriptorProto // received from the server
}

// ErrNotServed is returned for a service that the server does not have.
var ErrNotServed = errors.New("the server does not have this service")

// New opens a reflection stream, which ends with ctx.
func New(ctx context.Context, conn *rpc.ClientConn) (*Server, error) {
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, err
	}
	return &Server{conn: conn, stream: stream, files: map[string]*descriptorpb.FileDescriptorProto{}}, nil
}

// Services returns the names of the services, sorted.
func (s *Server) Services() ([]string, error) {
	resp, err := s.ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, service := range resp.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	slices.Sort(names)
	return names, nil
}

// Service returns the description of a service.
func (s *Server) Service(name string) (protoreflect.ServiceDescriptor, *protoregistry.Files, error) {
	resp, err := s.ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}})
	if err == nil {
		err = s.keep(resp)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("service %s: %w", name, err)
	}
	files, err := protodesc.NewFiles(s.set())
	if err != nil {
		return nil, nil, fmt.Errorf("service %s: invalid description from the server: %w", name, err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, nil, fmt.Errorf("service %s: %w", name, err)
	}
	service, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, nil, fmt.Errorf("%s is no service", name)
	}
	return service, files, nil
}

func (s *Server) ask(req *grpc_reflection_v1.ServerReflectionRequest) (*grpc_reflection_v1.ServerReflectionResponse, error) {
	if err := s.stream.Send(req); err != nil && !errors.Is(err, io.EOF) { // Recv returns the error
		return nil, err
	}
	resp, err := s.stream.Recv()
	if status.Code(err) == codes.Unimplemented {
		return nil, errors.New("the server does not support reflection (reflection in grpc.conf)")
	}
	if err != nil {
		return nil, err
	}
	if e := resp.GetErrorResponse(); e != nil && codes.Code(e.GetErrorCode()) == codes.NotFound {
		return nil, ErrNotServed
	} else if e != nil {
		return nil, errors.New(e.GetErrorMessage())
	}
	return resp, nil
}

// keep stores the files of a response, and requests their imports that are
// missing.
func (s *Server) keep(resp *grpc_reflection_v1.ServerReflectionResponse) error {
	var imports []string
	for _, data := range resp.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(data, file); err != nil {
			return fmt.Errorf("a description of the server: %w", err)
		}
		s.files[file.GetName()] = file
		imports = append(imports, file.GetDependency()...)
	}
	for _, name := range imports {
		if s.files[name] != nil {
			continue
		}
		resp, err := s.ask(&grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: name}})
		if err != nil {
			return fmt.Errorf("file %s: %w", name, err)
		}
		if err := s.keep(resp); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) set() *descriptorpb.FileDescriptorSet {
	set := &descriptorpb.FileDescriptorSet{}
	for _, file := range s.files {
		set.File = append(set.File, file)
	}
	return set
}

// Call calls a method with one request in JSON and passes every response in JSON
// to answer. bound is the timeout of unary calls; 0 disables it.
func (s *Server) Call(ctx context.Context, service, method string, request []byte, bound time.Duration, answer func([]byte) error) error {
	desc, files, err := s.Service(service)
	if err != nil {
		return err
	}
	m := desc.Methods().ByName(protoreflect.Name(method))
	if m == nil {
		var names []string
		for i := range desc.Methods().Len() {
			names = append(names, string(desc.Methods().Get(i).Name()))
		}
		hint := "'agentctl service list --methods' has all"
		if near := suggest.Nearest(method, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return fmt.Errorf("service %s has no method %q; %s", service, method, hint)
	}
	types := dynamicpb.NewTypes(files)
	in := dynamicpb.NewMessage(m.Input())
	if err := (protojson.UnmarshalOptions{Resolver: types}).Unmarshal(request, in); err != nil {
		return fmt.Errorf("the request, a %s: %w", m.Input().FullName(), err)
	}
	tell := func(out proto.Message) error {
		text, err := protojson.MarshalOptions{Resolver: types}.Marshal(out)
		if err != nil {
			return fmt.Errorf("the answer: %w", err)
		}
		return answer(text)
	}
	path := fmt.Sprintf("/%s/%s", service, method)
	if !m.IsStreamingServer() && !m.IsStreamingClient() {
		if bound > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, bound)
			defer cancel()
		}
		out := dynamicpb.NewMessage(m.Output())
		if err := s.conn.Invoke(ctx, path, in, out); err != nil {
			return err
		}
		return tell(out)
	}
	return s.follow(ctx, path, m, in, tell)
}

// follow calls a streaming method.
func (s *Server) follow(ctx context.Context, path string, m protoreflect.MethodDescriptor, in proto.Message, tell func(proto.Message) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.conn.NewStream(ctx, &rpc.StreamDesc{ServerStreams: true, ClientStreams: m.IsStreamingClient()}, path)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(in); err != nil && !errors.Is(err, io.EOF) { // RecvMsg returns the error
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		out := dynamicpb.NewMessage(m.Output())
		err := stream.RecvMsg(out)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := tell(out); err != nil {
			return err
		}
	}
}
