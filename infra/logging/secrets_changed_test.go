package logging_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

func TestChangedSecrets(t *testing.T) {
	t.Parallel()
	d := login(t)
	account := func(user, key string, pin int32, many ...proto.Message) proto.Message {
		m := dynamicpb.NewMessage(d)
		m.Set(d.Fields().ByName("user"), protoreflect.ValueOf(user))
		m.Set(d.Fields().ByName("private_key"), protoreflect.ValueOf(key))
		m.Set(d.Fields().ByName("pin"), protoreflect.ValueOf(pin))
		for _, one := range many {
			m.Mutable(d.Fields().ByName("many")).List().Append(protoreflect.ValueOf(one))
		}
		return m
	}
	for name, tt := range map[string]struct {
		from, to proto.Message
		want     []string
	}{
		"another secret":             {account("me", "a", 1), account("you", "b", 1), []string{"private_key"}},
		"another field":              {account("me", "a", 1), account("you", "a", 1), nil},
		"a secret that is shown new": {account("me", "", 1), account("me", "a", 1), nil},
		"several, one is a number":   {account("me", "a", 1), account("me", "b", 0), []string{"pin", "private_key"}},
		"in a list":                  {account("me", "", 0, account("", "a", 1)), account("me", "", 0, account("", "b", 1), account("", "c", 1)), []string{"many[0].private_key"}},
		"other types":                {account("me", "a", 1), wrapperspb.String("a"), nil},
		"nothing before":             {nil, account("me", "a", 1), nil},
	} {
		if got := logging.ChangedSecrets(tt.from, tt.to); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, expected %v", name, got, tt.want)
		}
	}
}
