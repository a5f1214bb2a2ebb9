package logging_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

func TestHideSecrets(t *testing.T) {
	t.Parallel()
	d := login(t)
	field := d.Fields().ByName
	m := dynamicpb.NewMessage(d)
	m.Set(field("user"), protoreflect.ValueOf("me"))
	shown, hidden := logging.HideSecrets(m)
	if hidden || shown != proto.Message(m) {
		t.Errorf("nothing to hide, but got %v, %v", shown, hidden)
	}
	inner := dynamicpb.NewMessage(d)
	inner.Set(field("private_key"), protoreflect.ValueOf("geheim"))
	inner.Set(field("pin"), protoreflect.ValueOf(int32(4711)))
	m.Mutable(field("many")).List().Append(protoreflect.ValueOf(inner))
	shown, hidden = logging.HideSecrets(m)
	got := shown.ProtoReflect().Get(field("many")).List().Get(0).Message()
	if !hidden || got.Get(field("private_key")).String() != logging.Hidden || got.Has(field("pin")) || shown.ProtoReflect().Get(field("user")).String() != "me" {
		t.Errorf("got %v, %v", shown, hidden)
	}
	if inner.Get(field("private_key")).String() != "geheim" {
		t.Error("the message itself was changed")
	}
	if !logging.HoldsSecrets(d) || logging.HoldsSecrets((&wrapperspb.StringValue{}).ProtoReflect().Descriptor()) {
		t.Error("a login holds secrets, a text does not")
	}
	if path := logging.HiddenField(m); path != "" {
		t.Errorf("%s is not hidden", path)
	}
	if path := logging.HiddenField(shown); path != "many[0].private_key" {
		t.Errorf("the hidden field is %q", path)
	}
	if shown, hidden := logging.HideSecrets(nil); shown != nil || hidden || logging.HiddenField(nil) != "" {
		t.Errorf("nil became %v, %v", shown, hidden)
	}
}

// A value that is sent back with hidden secrets gets them again, whatever else changed.
func TestRestoreSecrets(t *testing.T) {
	t.Parallel()
	d := login(t)
	field := d.Fields().ByName
	stored := dynamicpb.NewMessage(d)
	for _, name := range []string{"a", "b"} {
		one := dynamicpb.NewMessage(d)
		one.Set(field("user"), protoreflect.ValueOf(name))
		one.Set(field("private_key"), protoreflect.ValueOf("key of "+name))
		one.Set(field("pin"), protoreflect.ValueOf(int32(4711)))
		stored.Mutable(field("many")).List().Append(protoreflect.ValueOf(one))
	}
	stored.Set(field("private_key"), protoreflect.ValueOf("key"))
	shown, _ := logging.HideSecrets(stored)
	if got := logging.RestoreSecrets(shown, stored); !proto.Equal(got, stored) {
		t.Errorf("unchanged, it is %v", got)
	}
	// The elements come in another order, one has another user.
	changed := proto.Clone(shown).ProtoReflect()
	changed.Set(field("user"), protoreflect.ValueOf("me"))
	list := changed.Get(field("many")).List()
	a, b := list.Get(0), list.Get(1)
	list.Set(0, b)
	list.Set(1, a)
	list.Get(1).Message().Set(field("user"), protoreflect.ValueOf("c"))
	got := logging.RestoreSecrets(changed.Interface(), stored)
	first := got.ProtoReflect().Get(field("many")).List().Get(0).Message()
	if got.ProtoReflect().Get(field("private_key")).String() != "key" || first.Get(field("private_key")).String() != "key of b" || first.Get(field("pin")).Int() != 4711 {
		t.Errorf("changed, it is %v", got)
	}
	if path := logging.HiddenField(got); path != "many[1].private_key" {
		t.Errorf("still hidden is %q", path)
	}
	// A secret that is given counts, and nothing is added beside it.
	given := dynamicpb.NewMessage(d)
	given.Set(field("private_key"), protoreflect.ValueOf("new"))
	if got := logging.RestoreSecrets(given, stored); !proto.Equal(got, given) {
		t.Errorf("a new secret became %v", got)
	}
	for _, from := range []proto.Message{nil, wrapperspb.String("x")} {
		if got := logging.RestoreSecrets(shown, from); !proto.Equal(got, shown) {
			t.Errorf("from %v: %v", from, got)
		}
	}
	if got := logging.RestoreSecrets(nil, stored); got != nil {
		t.Errorf("nil became %v", got)
	}
}

// Secrets in a packed message are hidden, if its type is known.
func TestHidePackedSecrets(t *testing.T) {
	t.Parallel()
	harmless, err := anypb.New(wrapperspb.String("harmless"))
	infratest.Fatal(t, err)
	if shown, hidden := logging.HideSecrets(harmless); hidden || shown != proto.Message(harmless) {
		t.Errorf("got %v, %v", shown, hidden)
	}
	unknown := &anypb.Any{TypeUrl: "type.googleapis.com/no.such.Type", Value: []byte("geheim")}
	outer, err := anypb.New(unknown)
	infratest.Fatal(t, err)
	for _, packed := range []*anypb.Any{unknown, outer} {
		shown, hidden := logging.HideSecrets(packed)
		if a, ok := shown.(*anypb.Any); !hidden || !ok || a.GetTypeUrl() != packed.GetTypeUrl() || strings.Contains(string(a.GetValue()), "geheim") {
			t.Errorf("got %v, %v", shown, hidden)
		}
	}
}
