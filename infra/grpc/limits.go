package grpc

import (
	"context"
	"fmt"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// An empty message takes two bytes in a request, and a hundred in memory. A request may have
// freeValues messages and elements of lists, and one more for each bytesPerValue bytes, so that
// it takes a few times its size. maxQuery is the maximum size of the request of a method that only reads.
const (
	freeValues    = 200_000
	bytesPerValue = 10
	maxQuery      = 1 << 20
	queryValues   = 20_000 // of a request that only reads
	maxNesting    = 100
)

// refusalField is the number of an unknown field that has the reason for which a request was not
// decoded. gRPC would turn an error of the codec into the code INTERNAL.
const refusalField = protowire.MaxValidNumber

// LargeRequests names the methods of a service that change nothing but have requests with a
// configuration. The requests of other ReadOnly methods are limited to 1 MiB.
func LargeRequests(methods ...string) ServiceOption {
	return func(s *service) { s.large = append(s.large, methods...) }
}

// limitedCodec is the codec of protobuf; it refuses requests before it decodes them.
type limitedCodec struct {
	encoding.CodecV2
	queries map[protoreflect.FullName]bool // requests of methods that only read
}

func newLimitedCodec(services map[string]service) limitedCodec {
	c := limitedCodec{encoding.GetCodecV2(protocodec.Name), map[protoreflect.FullName]bool{}}
	large := map[protoreflect.FullName]bool{}
	for name, s := range services {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		desc, ok := d.(protoreflect.ServiceDescriptor)
		if err != nil || !ok {
			continue // its requests have the limit of all
		}
		for i := range desc.Methods().Len() {
			m := desc.Methods().Get(i)
			if s.isQuery(string(m.Name())) {
				c.queries[m.Input().FullName()] = true
			} else {
				large[m.Input().FullName()] = true
			}
		}
	}
	for name := range large { // also the request of a change
		delete(c.queries, name)
	}
	return c
}

// Unmarshal implements encoding.CodecV2.
func (c limitedCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	md := m.ProtoReflect().Descriptor()
	if c.queries[md.FullName()] && data.Len() > maxQuery {
		refuse(m, "%d bytes, expected at most %d for a query", data.Len(), maxQuery)
		return nil
	}
	limit := freeValues + data.Len()/bytesPerValue
	if c.queries[md.FullName()] {
		limit = queryValues
	}
	if data.Len() > 2*limit { // fewer bytes cannot have more values
		buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer buf.Free()
		if c := (counter{left: limit}); !c.message(buf.ReadOnlyData(), md, 0) {
			refuse(m, "more than %d values in %d bytes", limit, data.Len())
			return nil
		}
	}
	return c.CodecV2.Unmarshal(data, v)
}

// counter counts messages and elements of lists in encoded messages.
type counter struct{ left int }

// message counts what is in a message. It returns false when there are too many.
func (c *counter) message(data []byte, md protoreflect.MessageDescriptor, depth int) bool {
	if depth > maxNesting {
		return true // the decoder rejects it
	}
	var url string
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return true // the decoder rejects it
		}
		data = data[n:]
		size := protowire.ConsumeFieldValue(number, kind, data)
		if size < 0 {
			return true
		}
		value := data[:size]
		data = data[size:]
		field := md.Fields().ByNumber(number)
		if field == nil {
			continue
		}
		var text []byte
		if kind == protowire.BytesType {
			text, _ = protowire.ConsumeBytes(value)
		}
		if md.FullName() == "google.protobuf.Any" {
			if number == 1 {
				url = string(text)
			} else if inner, err := protoregistry.GlobalTypes.FindMessageByURL(url); err == nil && !c.message(text, inner.Descriptor(), depth+1) {
				return false
			}
			continue
		}
		if !c.field(field, text, depth) {
			return false
		}
	}
	return true
}

func (c *counter) field(field protoreflect.FieldDescriptor, text []byte, depth int) bool {
	const packed = 8 // elements of a packed list are counted as one
	switch {
	case field.Message() != nil:
		c.left--
		return c.left >= 0 && c.message(text, field.Message(), depth+1)
	case field.IsList() && field.Kind() != protoreflect.StringKind && field.Kind() != protoreflect.BytesKind && len(text) > 0:
		c.left -= len(text) / packed
	case field.IsList():
		c.left--
	}
	return c.left >= 0
}

// refuse leaves the reason in a message instead of its content.
func refuse(m proto.Message, format string, args ...any) {
	proto.Reset(m)
	tag := protowire.AppendTag(nil, refusalField, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendString(tag, fmt.Sprintf(format, args...)))
}

// refused returns the error of a request that was not decoded.
func refused(request any) error {
	m, ok := request.(proto.Message)
	if !ok {
		return nil
	}
	number, kind, n := protowire.ConsumeTag(m.ProtoReflect().GetUnknown())
	if n < 0 || number != refusalField || kind != protowire.BytesType {
		return nil
	}
	text, _ := protowire.ConsumeString(m.ProtoReflect().GetUnknown()[n:])
	return status.Error(codes.ResourceExhausted, "the request is too large: "+text)
}

// withLimits returns the description of a service whose unary methods return refused errors.
func withLimits(desc *rpc.ServiceDesc) *rpc.ServiceDesc {
	limited := *desc
	limited.Methods = make([]rpc.MethodDesc, len(desc.Methods))
	for i, m := range desc.Methods {
		limited.Methods[i] = m
		limited.Methods[i].Handler = func(srv any, ctx context.Context, decode func(any) error, interceptor rpc.UnaryServerInterceptor) (any, error) {
			return m.Handler(srv, ctx, func(into any) error {
				if err := decode(into); err != nil {
					return err
				}
				return refused(into)
			}, interceptor)
		}
	}
	return &limited
}
