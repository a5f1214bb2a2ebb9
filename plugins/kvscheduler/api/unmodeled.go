package api

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// A descriptor can find an object with settings that its model has no field for. They are part
// of the value: it equals no desired value, and everything that shows it shows them. They travel
// as unknown fields of the message, so that comparing, copying and storing the value keeps them.

// unmodeledNumber is the number of these fields, which no model uses.
const unmodeledNumber = 536_870_000

// UnmodeledField stands for the name of the missing fields where a difference is shown by field.
const UnmodeledField = "what the model lacks"

// AddUnmodeled adds settings that the model lacks to a value that Retrieve or RetrieveValue
// returns, such as "dst_port 8472".
func AddUnmodeled(value proto.Message, settings ...string) {
	m := value.ProtoReflect()
	unknown := slices.Clone(m.GetUnknown())
	for _, s := range settings {
		unknown = protowire.AppendString(protowire.AppendTag(unknown, unmodeledNumber, protowire.BytesType), s)
	}
	m.SetUnknown(unknown)
}

// Unmodeled returns the settings of a found value that its model lacks.
func Unmodeled(value proto.Message) (settings []string) {
	if value == nil {
		return nil
	}
	for unknown := value.ProtoReflect().GetUnknown(); len(unknown) > 0; {
		number, kind, size := protowire.ConsumeField(unknown)
		if size < 0 {
			return settings
		}
		if number == unmodeledNumber && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(unknown)
			if text, n := protowire.ConsumeString(unknown[tag:]); n >= 0 {
				settings = append(settings, text)
			}
		}
		unknown = unknown[size:]
	}
	return settings
}

// WithoutUnmodeled returns a value without settings that its model lacks: the value itself if it
// has none.
func WithoutUnmodeled[M proto.Message](value M) M {
	if len(Unmodeled(value)) == 0 {
		return value
	}
	value = proto.CloneOf(value)
	value.ProtoReflect().SetUnknown(nil)
	return value
}
