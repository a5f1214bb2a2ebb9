package kv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/typepb"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

func TestEncodingsTellThemselvesApart(t *testing.T) {
	t.Parallel()
	want := &typepb.Field{Name: strings.Repeat("x", '{'), Number: 7}
	wire, err := proto.Marshal(want)
	infratest.Fatal(t, err)
	text, err := kv.Encode(want)
	infratest.Fatal(t, err)
	onlyName, err := proto.Marshal(&typepb.Option{Name: strings.Repeat("y", '{')}) // begins like JSON after a newline
	if err != nil || string(onlyName[:2]) != "\n{" {
		t.Fatalf("%q, %v", onlyName, err)
	}
	var option typepb.Option
	if err := kv.Encoded(onlyName).Decode(&option); err != nil || len(option.Name) != '{' {
		t.Errorf("protobuf that begins like JSON: %v", err)
	}
	for _, data := range []string{string(wire), string(text), "\n\t " + string(text) + "\n"} {
		var got typepb.Field
		if err := kv.Encoded(data).Decode(&got); err != nil || !proto.Equal(&got, want) {
			t.Errorf("%.20q: %v, %v", data, &got, err)
		}
	}
	for data, part := range map[string]string{
		`{"name": "x"`: "decode JSON", `{"nome": "x"}`: "nome", "plain": "expected JSON or the protobuf encoding of google.protobuf.Field",
		"\x98\x06\x01": "fields that the message does not have",
	} {
		got := typepb.Field{Name: "before"}
		if err := kv.Encoded(data).Decode(&got); err == nil || !strings.Contains(err.Error(), part) || got.Name != "" {
			t.Errorf("%q: %v, %v; want %q", data, &got, err, part)
		}
	}
	var empty typepb.Field
	if err := kv.Encoded("").Decode(&empty); err != nil {
		t.Errorf("no bytes are an empty message: %v", err)
	}
	if text, err := kv.Encode(&typepb.Field{TypeUrl: "x"}); err != nil || string(text) != `{"type_url":"x"}` {
		t.Errorf("encoded as %s, %v", text, err)
	}
	if _, err := kv.Encode(&durationpb.Duration{Seconds: 1 << 60}); err == nil {
		t.Error("a message that JSON cannot say was encoded")
	}
}

func TestVariablesAreExpanded(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) { return "<" + name + ">", name != "NONE" }
	var got typepb.Field
	value := kv.Expanding{Encoded: kv.Encoded(`{"name": "${HOME}/$X"}`), Lookup: lookup}
	if err := value.Decode(&got); err != nil || got.Name != "<HOME>/<X>" {
		t.Errorf("%q, %v", got.Name, err)
	}
	wire, _ := proto.Marshal(&typepb.Field{Name: "$X"})
	if err := (kv.Expanding{Encoded: wire, Lookup: lookup}).Decode(&got); err != nil || got.Name != "$X" {
		t.Errorf("protobuf: %q, %v", got.Name, err)
	}
}

// What may be a secret is not in the error of a value that cannot be read.
func TestErrorsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: &kind}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("t.proto"), Package: proto.String("t"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("M"), Field: []*descriptorpb.FieldDescriptorProto{
			field("private_key", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING), field("name", 2, descriptorpb.FieldDescriptorProto_TYPE_STRING),
			field("key", 3, descriptorpb.FieldDescriptorProto_TYPE_BYTES),
		}}},
	}, nil)
	infratest.Fatal(t, err)
	for text, want := range map[string]string{
		`{"private_key": 4711}`:       "field privateKey (hidden: it may be a secret",
		`{"privateKey": 4711}`:        "field privateKey (hidden: it may be a secret",
		`{"key": "4711 4711"}`:        "field key (hidden: it may be a secret",
		`{"private_key": geheim4711}`: "invalid value (hidden: it may be a secret",
		`{"name": 12}`:                "field name: 12",
		`{"nmae": "x"}`:               `unknown field "nmae"`,
	} {
		err := kv.Encoded(text).Decode(dynamicpb.NewMessage(file.Messages().Get(0)))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func FuzzEncoded(f *testing.F) {
	f.Add([]byte(`{"fields": {"a": {"numberValue": 1}}}`))
	f.Add([]byte("\n{x"))
	f.Add([]byte{0x0a, 2, 0x0a, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var m structpb.Struct
		if err := kv.Encoded(data).Decode(&m); err != nil {
			if len(m.Fields) > 0 {
				t.Errorf("an error, but also content: %v", &m)
			}
			return
		}
		text, err := kv.Encode(&m)
		if err != nil {
			return // NaN and the like
		}
		var again structpb.Struct
		if err := kv.Encoded(text).Decode(&again); err != nil || !proto.Equal(&m, &again) {
			t.Errorf("%q is encoded as %s, which is read as %v, %v", data, text, &again, err)
		}
	})
}

// recorder is a DB that writes down what it is asked for.
type recorder struct {
	kv.DB
	calls []string
}

func (r *recorder) Put(ctx context.Context, key string, value []byte, opts ...kv.PutOption) error {
	_, bounded := ctx.Deadline()
	r.calls = append(r.calls, fmt.Sprintf("put %s %s %+v %v", key, value, kv.CollectPut(opts), bounded))
	return nil
}

func (r *recorder) Delete(_ context.Context, key string, opts ...kv.DelOption) (int64, error) {
	r.calls = append(r.calls, fmt.Sprintf("delete %s %+v", key, kv.CollectDel(opts)))
	return 2, nil
}

func TestPublish(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	ctx := t.Context()
	for _, err := range []error{
		kv.Publish(ctx, time.Second, r, "a", &typepb.Field{Number: 1}, kv.WithTTL(time.Minute)),
		kv.Publish(ctx, time.Second, r, "b", &typepb.Field{}, kv.WithClientLifetimeTTL(), kv.WithTTL(-time.Minute)),
		kv.Publish(ctx, time.Second, r, "a", nil),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if existed, err := kv.Withdraw(ctx, time.Second, r, "p/", kv.WithPrefix()); !existed || err != nil {
		t.Errorf("withdraw: %v, %v", existed, err)
	}
	want := `put a {"number":1} {TTL:1m0s ClientLifetime:false} true; put b {} {TTL:1ns ClientLifetime:true} true; delete a {Prefix:false}; delete p/ {Prefix:true}`
	if got := strings.Join(r.calls, "; "); got != want {
		t.Errorf("calls %s\nwant %s", got, want)
	}
	if err := kv.Publish(ctx, time.Second, r, "a", &durationpb.Duration{Seconds: 1 << 60}); err == nil {
		t.Error("what cannot be encoded was put")
	}
	if err := kv.Publish(ctx, time.Second, nil, "a", nil); !errors.Is(err, kv.ErrDisabled) {
		t.Errorf("publish into a disabled store: %v", err)
	}
}

func TestLastOps(t *testing.T) {
	t.Parallel()
	got := fmt.Sprintf("%s", kv.LastOps([]kv.Op{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("1")}, {Key: "a"}, {Key: "b", Value: []byte("2")}}))
	if got != "[{a } {b 2}]" {
		t.Errorf("last %s", got)
	}
}
