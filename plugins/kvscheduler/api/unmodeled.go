package api

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// A descriptor can find an object with settings that its model has no field for. They are part
// of the value: it equals no desired value, and everything that shows it shows them. They travel
// as unknown fields of the message, so that comparing, copying and storing the value keeps them.
// So do the names of fields with defaults of the southbound; see AddDefaulted.

// The numbers of these fields, which no model uses.
const (
	unmodeledNumber = 536_870_000
	defaultedNumber = 536_870_001
)

// UnmodeledField stands for the name of the missing fields where a difference is shown by field.
const UnmodeledField = "what the model lacks"

// AddUnmodeled adds settings that the model lacks to a value that Retrieve or RetrieveValue
// returns, such as "dst_port 8472".
func AddUnmodeled(value proto.Message, settings ...string) {
	addNotes(value, unmodeledNumber, settings)
}

// Unmodeled returns the settings of a found value that its model lacks.
func Unmodeled(value proto.Message) (settings []string) { return notesOf(value, unmodeledNumber) }

// WithoutUnmodeled returns a value without settings that its model lacks: the value itself if it
// has none.
func WithoutUnmodeled[M proto.Message](value M) M { return withoutNotes(value, unmodeledNumber) }

// AddDefaulted notes which fields of a value that Retrieve or RetrieveValue returns have a default of the southbound,
// such as "phys_address", since no configuration sets them. A value on record keeps the note, so that the next agent
// does not take the default for a setting of an earlier configuration. Dumps do not show the note.
func AddDefaulted(value proto.Message, fields ...string) { addNotes(value, defaultedNumber, fields) }

// IsDefaulted reports whether a field of a value has a default of the southbound; see AddDefaulted.
func IsDefaulted(value proto.Message, field string) bool {
	return slices.Contains(notesOf(value, defaultedNumber), field)
}

// WithoutDefaulted returns a value without the notes of AddDefaulted: the value itself if it has none.
func WithoutDefaulted[M proto.Message](value M) M { return withoutNotes(value, defaultedNumber) }

func addNotes(value proto.Message, number protowire.Number, notes []string) {
	m := value.ProtoReflect()
	unknown := slices.Clone(m.GetUnknown())
	for _, note := range notes {
		unknown = protowire.AppendString(protowire.AppendTag(unknown, number, protowire.BytesType), note)
	}
	m.SetUnknown(unknown)
}

func notesOf(value proto.Message, number protowire.Number) (notes []string) {
	eachUnknown(value, func(found protowire.Number, kind protowire.Type, field []byte) {
		if found != number || kind != protowire.BytesType {
			return
		}
		_, _, tag := protowire.ConsumeTag(field)
		if text, n := protowire.ConsumeString(field[tag:]); n >= 0 {
			notes = append(notes, text)
		}
	})
	return notes
}

func withoutNotes[M proto.Message](value M, number protowire.Number) M {
	if len(notesOf(value, number)) == 0 {
		return value
	}
	var kept []byte
	eachUnknown(value, func(found protowire.Number, _ protowire.Type, field []byte) {
		if found != number {
			kept = append(kept, field...)
		}
	})
	value = proto.CloneOf(value)
	value.ProtoReflect().SetUnknown(kept)
	return value
}

// eachUnknown calls f with each unknown field of a value, which can be nil.
func eachUnknown(value proto.Message, f func(number protowire.Number, kind protowire.Type, field []byte)) {
	if value == nil {
		return
	}
	for unknown := value.ProtoReflect().GetUnknown(); len(unknown) > 0; {
		number, kind, size := protowire.ConsumeField(unknown)
		if size < 0 {
			return
		}
		f(number, kind, unknown[:size])
		unknown = unknown[size:]
	}
}
