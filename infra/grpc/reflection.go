package grpc

import (
	"context"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Descriptors returns the descriptors for the client of a call.
type Descriptors func(ctx context.Context) protodesc.Resolver

// ReflectWith makes reflection show the descriptors that d returns for its client, for all
// services. By default it shows the descriptors of the program.
func ReflectWith(d Descriptors) ServiceOption {
	return func(s *service) { s.descriptors = d }
}

// registerReflection adds both versions of the reflection service.
func registerReflection(s *rpc.Server, d Descriptors) {
	if d == nil {
		d = func(context.Context) protodesc.Resolver { return protoregistry.GlobalFiles }
	}
	options := func(ctx context.Context) reflection.ServerOptions {
		return reflection.ServerOptions{Services: s, DescriptorResolver: d(ctx)}
	}
	grpc_reflection_v1.RegisterServerReflectionServer(s, reflectionV1(options))
	grpc_reflection_v1alpha.RegisterServerReflectionServer(s, reflectionV1Alpha(options))
}

type (
	reflectionOptions func(ctx context.Context) reflection.ServerOptions
	reflectionV1      reflectionOptions
	reflectionV1Alpha reflectionOptions
)

// ServerReflectionInfo serves a stream.
func (r reflectionV1) ServerReflectionInfo(stream grpc_reflection_v1.ServerReflection_ServerReflectionInfoServer) error {
	return reflection.NewServerV1(r(stream.Context())).ServerReflectionInfo(stream)
}

// ServerReflectionInfo serves a stream.
func (r reflectionV1Alpha) ServerReflectionInfo(stream grpc_reflection_v1alpha.ServerReflection_ServerReflectionInfoServer) error {
	return reflection.NewServer(r(stream.Context())).ServerReflectionInfo(stream)
}
