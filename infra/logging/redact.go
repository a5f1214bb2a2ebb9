package logging

import (
	"fmt"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Redact returns m in the text format of protocol buffers on one line, with its
// secrets hidden (HideSecrets). String does the work, so an entry that is not
// written costs nothing. Loggers apply it to every proto message among their
// values.
func Redact(m proto.Message) fmt.Stringer { return redacted{m} }

type redacted struct{ m proto.Message }

func (r redacted) String() string {
	if r.m == nil || !r.m.ProtoReflect().IsValid() {
		return "<nil>"
	}
	m, _ := HideSecrets(r.m)
	return prototext.MarshalOptions{Multiline: false, AllowPartial: true}.Format(m)
}

func redactable(value any) (fmt.Stringer, bool) {
	m, ok := value.(proto.Message)
	if !ok {
		return nil, false
	}
	return Redact(m), true
}
