package grpc

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// Requests are refused before they are decoded if they would take many times their size.
func TestRequestLimits(t *testing.T) {
	t.Parallel()
	services := map[string]service{
		"grpc.reflection.v1.ServerReflection": {reads: []string{"ServerReflectionInfo"}},
		"not.in.the.Registry":                 {},
	}
	codec := newLimitedCodec(services)
	empty := bytes.Repeat([]byte{1<<3 | 2, 0}, 5_000_000) // 10 MB of empty elements of field 1
	full, err := proto.Marshal(&grpc_reflection_v1.ListServiceResponse{Service: make([]*grpc_reflection_v1.ServiceResponse, 1000)})
	if err != nil {
		t.Fatal(err)
	}
	inAny := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "type.googleapis.com/grpc.reflection.v1.ListServiceResponse")
	inAny = protowire.AppendBytes(protowire.AppendTag(inAny, 2, protowire.BytesType), empty)
	large := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), strings.Repeat("n", 10<<20))
	for name, test := range map[string]struct {
		data []byte
		into proto.Message
		want string
	}{
		"empty messages":     {empty, &grpc_reflection_v1.ListServiceResponse{}, "more than 1200000 values"},
		"empty texts":        {empty, &fieldmaskpb.FieldMask{}, "more than 1200000 values"},
		"messages in an Any": {inAny, &anypb.Any{}, "more than"},
		"some messages":      {full, &grpc_reflection_v1.ListServiceResponse{}, ""},
		"a long text":        {large, &grpc_reflection_v1.ServiceResponse{}, ""},
		"a large query":      {large, &grpc_reflection_v1.ServerReflectionRequest{}, "expected at most 1048576 for a query"},
		"a small query":      {large[:0], &grpc_reflection_v1.ServerReflectionRequest{}, ""},
	} {
		err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(test.data)}, test.into)
		if err == nil {
			err = refused(test.into)
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, expected %q", name, err, test.want)
		}
		if test.want != "" && proto.Size(test.into) > 200 {
			t.Errorf("%s: it was decoded", name)
		}
	}
	// What is also the request of a change is not limited as a query.
	services["grpc.reflection.v1.ServerReflection"] = service{reads: []string{"ServerReflectionInfo"}, large: []string{"ServerReflectionInfo"}}
	request := &grpc_reflection_v1.ServerReflectionRequest{}
	if err := newLimitedCodec(services).Unmarshal(mem.BufferSlice{mem.SliceBuffer(large)}, request); err != nil || refused(request) != nil {
		t.Error(err, refused(request))
	}
}
